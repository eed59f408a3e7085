import { expect, it } from 'vitest';
import { findNearestName } from './nearest-name.ts';

const names = ['port', 'host', 'output', 'max_output_tokens', 'keys', 'start', 'help'];

it.each([
  ['prot', 'port'],
  ['PORT', 'port'],
  ['strat', 'start'],
  ['hots', 'host'],
  ['max_ouput_token', 'max_output_tokens'],
  ['outputs', 'output'],
])('%s is near %s', (typed, name) => {
  expect(findNearestName(typed, names)).toBe(name);
});

it.each(['bogus', 'x', '', 'pool', 'maximum', 'a'.repeat(1_000_000)])('no name is near %.20s', (typed) => {
  expect(findNearestName(typed, names)).toBeUndefined();
});

it('returns the nearest, and the first of equals', () => {
  expect(findNearestName('parallel', ['parallels', 'parallel_'])).toBe('parallels');
  expect(findNearestName('timeout', ['timeouts_x', 'timeouts'])).toBe('timeouts');
});
