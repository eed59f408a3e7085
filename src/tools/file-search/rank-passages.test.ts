import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rankPassages, weighWord } from './rank-passages.ts';

const passage = (text: string, filename = 'a.txt') => ({
  fileId: 'f',
  filename,
  mimeType: 'text/plain',
  bytes: 1,
  createdAtMs: 1,
  position: 0,
  text,
});
const word = (text: string, weight = 1, stem?: string) => ({ text, weight, stem });
const rank = (texts: string[], ...queries: ReturnType<typeof word>[][]) =>
  rankPassages(
    texts.map((text) => passage(text)),
    queries,
  ).map(({ text }) => text);

describe('rankPassages', () => {
  it('prefers passages with more words of a query, and with rarer ones', () => {
    expect(rank(['tea', 'tea and milk', 'milk'], [word('tea'), word('milk')])[0]).toBe('tea and milk');
    expect(rank(['the the the', 'zebra'], [word('the', weighWord(100, 90)), word('zebra', weighWord(100, 1))])).toEqual(
      ['zebra', 'the the the'],
    );
  });

  it('counts similar words less, and names of files', () => {
    expect(rank(['refunded', 'refund'], [word('refund', 1, 'refund')])).toEqual(['refund', 'refunded']);
    const named = rankPassages([passage('x', 'refund.txt'), passage('y')], [[word('refund')]]);
    expect(named.map(({ score }) => score > 0)).toEqual([true, false]);
  });

  it('takes the best query, and keeps the order of equal passages', () => {
    expect(rank(['a', 'b', 'c'], [word('c')], [word('b')])).toEqual(['b', 'c', 'a']);
  });

  it('scores from 0 to 1', () => {
    const words = fc.array(
      fc.record({
        text: fc.constantFrom('a', 'b', 'abc'),
        weight: fc.double({ min: 0.1, max: 9, noNaN: true }),
        stem: fc.constantFrom(undefined, 'a'),
      }),
    );
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'b', 'abc', 'x')), fc.array(words), (text, queries) => {
        const score = rankPassages([passage(text.join(' '))], queries)[0]?.score;
        expect(score).toBeGreaterThanOrEqual(0);
        expect(score).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('weighs rare words more, and every word above 0', () => {
    expect(weighWord(1000, 1)).toBeGreaterThan(weighWord(1000, 500));
    expect(weighWord(0, 0)).toBeGreaterThan(0);
    expect(weighWord(10, 10)).toBeGreaterThan(0);
  });
});
