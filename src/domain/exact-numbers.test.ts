import { expect, it } from 'vitest';
import { parseExactly } from './exact-numbers.ts';

it.each([
  '{"order":1234567890123456789}',
  '[-12345678901234567890,[{"a":9007199254740993}]]',
  '{"a":"1234567890123456789","b":1.5,"c":12}',
])('keeps the digits of %s', (text) => {
  expect(JSON.stringify(parseExactly(text))).toBe(text);
});

it.each(['9007199254740991', '0.12345678901234567', '1e21', '12345678901234567.5'])('returns the number %s', (text) => {
  expect(parseExactly(text)).toBe(Number(text));
});
