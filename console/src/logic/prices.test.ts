import { expect, it } from 'vitest';
import { perMillion } from './prices.ts';

it.each([
  ['0', '$0.00'],
  ['0.00000015', '$0.15'],
  ['0.0000000375', '$0.0375'],
  ['0.000003', '$3.00'],
  ['0.0000125', '$12.50'],
  ['1.5', '$1500000.00'],
  ['-1', '-1'],
])('writes %s per token as %s', (price, text) => expect(perMillion(price)).toBe(text));
