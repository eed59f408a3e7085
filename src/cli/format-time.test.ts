import { expect, it } from 'vitest';
import { formatDistance } from './format-time.ts';

const minutes = (count: number) => count * 60_000;

it.each([
  [0, 'just now'],
  [-59_000, 'just now'],
  [59_000, 'in under 1 min'],
  [minutes(1), 'in 1 min'],
  [minutes(59), 'in 59 min'],
  [minutes(59) + 40_000, 'in 1 h'],
  [minutes(540), 'in 9 h'],
  [minutes(-90), '2 h ago'],
  [minutes(47 * 60), 'in 47 h'],
  [minutes(48 * 60), 'in 2 d'],
  [minutes(-30 * 24 * 60), '30 d ago'],
])('a time %d ms away is %s', (ms, text) => expect(formatDistance(1e12 + ms, 1e12)).toBe(text));
