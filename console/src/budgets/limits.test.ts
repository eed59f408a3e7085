import { expect, it } from 'vitest';
import { nextStart } from './limits.ts';

it.each([
  ['daily', '2026-12-01T00:00:00.000Z'],
  ['weekly', '2026-12-07T00:00:00.000Z'],
  ['monthly', '2026-12-01T00:00:00.000Z'],
  [null, null],
] as const)('a limit that is %s has its next start', (interval, at) => {
  expect(nextStart(interval, Date.parse('2026-11-30T23:30:00Z'))).toBe(at); // a Monday
});
