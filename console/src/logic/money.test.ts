import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatMoney, moneyParts, shortMoney, toNano } from './money.ts';

describe('toNano', () => {
  it.each([
    ['0.00104', 1_040_000n],
    ['0.000000001', 1n],
    ['-2.5', -2_500_000_000n],
    [1e-9, 1n],
    [0.1, 100_000_000n],
    [1234567.123456789, 1_234_567_123_456_789n],
  ])('reads %s', (amount, nano) => expect(toNano(amount)).toBe(nano));

  it('rejects a text that is no amount', () => expect(() => toNano('1e3')).toThrow(RangeError));

  it('reads every number of JSON up to a million dollars as the gateway wrote it', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 1_000_000_000_000_000n }), (nano) => {
        expect(toNano(JSON.parse(JSON.stringify(Number(nano) / 1e9)) as number)).toBe(nano);
      }),
    );
  });
});

describe('formatMoney', () => {
  it.each([
    [1_040_000n, '$0.001040'],
    [1n, '$0.000000001'],
    [0n, '$0.000000'],
    [-1_500_000_000n, '-$1.500000'],
    [1_234_567_890_123_456_789n, '$1,234,567,890.123456789'],
  ])('writes %s as %s', (nano, text) => expect(formatMoney(nano)).toBe(text));

  it('rounds nothing', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }), (nano) => {
        expect(toNano(formatMoney(nano).replaceAll(/[$,]/g, ''))).toBe(nano);
      }),
    );
  });

  it('separates the cents from the rest', () => {
    expect(moneyParts(12_345_678_900n)).toEqual({ main: '$12.34', tail: '5678900' });
  });
});

it('labels an axis briefly', () => {
  expect([0, 0.0000031, 0.004, 1.5, 12_345, 2_500_000].map(shortMoney)).toEqual([
    '$0',
    '$0.0000031',
    '$0.004',
    '$1.5',
    '$12.3k',
    '$2.5M',
  ]);
});
