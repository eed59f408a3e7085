import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_MATCH_LENGTH, parsePattern } from './parse-pattern.ts';
import { findMatches, PatternSet, Search } from './search.ts';

/** Slices of 2,000 units of work that a search takes. Matches are not counted: only how far the search has come. */
function countSlices(set: PatternSet, text: string): number {
  const search = new Search(set, () => {});
  search.add(text);
  search.end();
  let slices = 1;
  while (!search.advance(2000)) slices++;
  return slices;
}

const hostile: [string, string][] = [
  ['x.*?y', 'y'],
  ['a.*b|a', 'a'],
  ['a(?:.*b)?', 'a'],
  ['a.*b', 'ab'],
  ['a.*b', 'a'],
  ['[ab]*a[ab]{12}c', 'ab'],
  ['a{1,500}b', 'a'],
  [String.raw`\b\w+\s\w+\b`, 'ab '],
  [String.raw`(?:\d+,)+x`, '1,'],
  ['[a-y]{1,90000}0', 'a'],
];

describe('the work of a search', () => {
  it.each(hostile)('of %s grows linearly with %s repeated', (source, fragment) => {
    const set = PatternSet.create([{ node: parsePattern(source) }]);
    const text = (length: number) => `x${fragment.repeat(Math.ceil(length / fragment.length))}`;
    countSlices(set, text(5000)); // fills the table
    const short = countSlices(set, text(5000));
    const long = countSlices(set, text(20_000));
    expect(long / short).toBeLessThan(5);
  });

  it('grows linearly for all fragments', () => {
    const sets = hostile.map(([source]) => PatternSet.create([{ node: parsePattern(source) }]));
    fc.assert(
      fc.property(fc.nat({ max: sets.length - 1 }), fc.stringMatching(/^[abxy1, ]{1,6}$/), (index, fragment) => {
        const text = (length: number) => fragment.repeat(Math.ceil(length / fragment.length));
        const set = sets[index]!;
        countSlices(set, text(10_000));
        expect(countSlices(set, text(40_000)) / countSlices(set, text(10_000))).toBeLessThan(5);
      }),
      { numRuns: 20 },
    );
  });
});

describe('a slice', () => {
  const large = [
    Array.from({ length: 100 }, (_, index) => `[ab]*a[ab]{20}c${index}`),
    ['[a-y]{1,90000}0'],
    [Array.from({ length: 5000 }, (_, index) => ((index * 2_654_435_761) >>> 0).toString(36)).join('|')],
    Array.from({ length: 100 }, (_, index) => `(?:a|b${index})+[\\p{L}]{1,10}x`),
  ];

  it.each(large)('does at most its work, and that of one character: %#', (...sources: string[]) => {
    const set = PatternSet.create(sources.map((source) => ({ node: parsePattern(source) })));
    const parts = set.automaton.program.operations.length;
    let state = 1;
    const text = Array.from({ length: 5000 }, () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return 'ab1x0'[(state >>> 12) % (state % 3 === 0 ? 5 : 2)];
    }).join('');
    const search = new Search(set, () => {});
    search.add(text);
    search.end();
    for (let isDone = false; !isDone; ) {
      const before = search.work;
      isDone = search.advance(10_000);
      // A character visits each part at most once in the automaton, for attempts so far and for new ones.
      expect(search.work - before).toBeLessThan(10_000 + 3 * 8 * parts + 1000);
    }
  });
});

describe('a match', () => {
  const set = PatternSet.create([{ node: parsePattern('a.*b') }]);

  it('is found if it has at most half of the maximum length, whatever is before it', () => {
    const match = `a${'.'.repeat(MAX_MATCH_LENGTH / 2 - 2)}b`;
    for (const before of ['', 'a'.repeat(10_000), `a${'.'.repeat(9_999)}`, 'a.'.repeat(5000), 'ab'.repeat(3000)]) {
      const matches = findMatches(set, `${before}\n${match}`);
      expect(matches.at(-1)).toMatchObject({ end: before.length + 1 + match.length });
      const without = findMatches(set, `${before}${match}`);
      expect(without.at(-1)).toMatchObject({ end: before.length + match.length });
    }
  });

  it('is at most as long as the maximum', () => {
    const text = `a${'.'.repeat(10_000)}b a${'.'.repeat(MAX_MATCH_LENGTH - 2)}b`;
    for (const { start, end } of findMatches(set, text)) expect(end - start).toBeLessThanOrEqual(MAX_MATCH_LENGTH);
    expect(findMatches(set, `a${'.'.repeat(10_000)}b`)).toEqual([]);
    for (const after of ['', '\n', 'a']) {
      expect(findMatches(set, `a${'.'.repeat(MAX_MATCH_LENGTH - 2)}b${after}`)).toHaveLength(1);
    }
    expect(findMatches(set, `a${'.'.repeat(MAX_MATCH_LENGTH - 1)}b`)).toEqual([]);
  });

  it('is reported with bounded delay: text before it is settled', () => {
    const search = new Search(set, () => {});
    for (let index = 0; index < 100; index++) {
      search.add(`a${'.'.repeat(999)}`);
      search.advance();
      expect((index + 1) * 1000 - search.settled).toBeLessThanOrEqual(MAX_MATCH_LENGTH + 2);
    }
  });

  it('does not depend on the table, which starts over when it is full', () => {
    const wide = PatternSet.create([{ node: parsePattern('a[abc]{24}d') }, { node: parsePattern('[ab]+c') }]);
    let state = 1;
    const text = Array.from({ length: 200_000 }, () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return 'abc'[(state >>> 12) % 3];
    }).join('');
    const expected = [...text.matchAll(/[ab]+c/gu)].map(({ 0: match, index }) => [index, index + match.length]);
    const found = findMatches(wide, text).filter(({ pattern }) => pattern === 1);
    expect(found.map(({ start, end }) => [start, end])).toEqual(expected);
    expect(wide.automaton.generation).toBeGreaterThan(0);

    // Two searches in turns: each finds its row again after the other one has started the table over.
    const { generation } = wide.automaton;
    const results = [0, 1].map(() => [] as number[][]);
    const searches = results.map(
      (result) => new Search(wide, (pattern, start, end) => void (pattern === 1 && result.push([start, end]))),
    );
    for (let at = 0; at < text.length; at += 5000) {
      for (const [index, search] of searches.entries()) {
        search.add(index === 0 ? text.slice(at, at + 5000) : text.slice(at, at + 5000).toUpperCase());
        search.advance();
      }
    }
    for (const search of searches) {
      search.end();
      search.advance();
    }
    expect(results).toEqual([expected, []]);
    expect(wide.automaton.generation).toBeGreaterThan(generation);
  });
});
