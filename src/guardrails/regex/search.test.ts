import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PatternError, parsePattern } from './parse-pattern.ts';
import { findMatches, PatternSet, Search } from './search.ts';

/** What the JavaScript engine finds. */
const expectedAll = (source: string, text: string) =>
  [...text.matchAll(new RegExp(source, 'gu'))].map(({ 0: match, index }) => [index, index + match.length]);

const literals = [
  'a',
  'b',
  'A',
  '_',
  '1',
  ' ',
  '.',
  '\\n',
  '-',
  'é',
  'ß',
  '😀',
  '\\u0061',
  '\\x62',
  '\\u{1f600}',
  '\\ud83d\\ude00',
  '\\ud83d',
  '\\.',
  '\\/',
  '\\t',
  '\\cJ',
  '\\d',
  '\\D',
  '\\w',
  '\\W',
  '\\s',
  '\\S',
  '.',
  '[ab]',
  '[^a]',
  '[a-c1]',
  '[\\d_]',
  '[^\\s]',
  '[😀-😎]',
  '[^😀]',
  '\\p{L}',
  '\\P{Lu}',
  '\\p{Script=Greek}',
  '[\\p{N}-]',
  '[\\b]',
  '[\\-a]',
  '\\0',
];
const assertion = fc.constantFrom('^', '$', '\\b', '\\B');
const quantifier = fc.constantFrom('*', '+', '?', '{2}', '{1,}', '{0,2}', '{1,3}', '*?', '+?', '??', '{1,3}?', '{2,}?');

const { pattern } = fc.letrec<{ pattern: string; sequence: string; atom: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    tie('sequence'),
    fc.tuple(tie('sequence'), tie('sequence')).map((parts) => parts.join('|')),
  ),
  sequence: fc
    .array(
      fc.oneof(
        { weight: 4, arbitrary: tie('atom') },
        { weight: 3, arbitrary: fc.tuple(tie('atom'), quantifier).map((parts) => parts.join('')) },
        { weight: 1, arbitrary: assertion },
      ),
      { minLength: 1, maxLength: 4 },
    )
    .map((parts) => parts.join('')),
  atom: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom(...literals),
    tie('pattern').map((inner) => `(?:${inner})`),
    tie('pattern').map((inner) => `(${inner})`),
  ),
}));

const text = fc
  .array(
    fc.constantFrom(
      'a',
      'b',
      'c',
      'A',
      '_',
      '1',
      ' ',
      '.',
      '\n',
      '-',
      'é',
      'e\u0301',
      'ß',
      '😀',
      '😎',
      '\ud83d',
      '\ude00',
      'λ',
      '٣',
      '\u2028',
      '\t',
      '\0',
      '👩‍👩‍👧',
    ),
    { maxLength: 40 },
  )
  .map((parts) => parts.join(''));

/** Undefined: the expression is not among those that are supported. */
function parseOrReject(source: string) {
  try {
    return parsePattern(source);
  } catch (error) {
    if (error instanceof PatternError) return undefined;
    throw error;
  }
}

describe('a search', () => {
  it('finds what JavaScript finds', () => {
    let supported = 0;
    fc.assert(
      fc.property(pattern, fc.array(text, { minLength: 1, maxLength: 5 }), (source, texts) => {
        const node = parseOrReject(source);
        if (!node) return;
        supported++;
        const set = PatternSet.create([{ node }]);
        for (const each of texts) {
          const found = findMatches(set, each).map(({ start, end }) => [start, end]);
          expect(found).toEqual(expectedAll(source, each));
        }
      }),
      { numRuns: 1000 },
    );
    expect(supported).toBeGreaterThan(200);
  });

  it('prefers the alternatives that JavaScript prefers, also of those with common beginnings', () => {
    const word = fc.stringMatching(/^[ab]{0,3}$/);
    const tail = fc.constantFrom('', 'c', '[bc]', 'a+', 'b?', '\\b');
    const alternatives = fc.array(
      fc.tuple(word, tail).map((parts) => parts.join('')),
      { minLength: 2, maxLength: 8 },
    );
    fc.assert(
      fc.property(alternatives, fc.stringMatching(/^[abc ]{0,20}$/), (items, each) => {
        const source = `(?:${items.join('|')})c|a`;
        const found = findMatches(PatternSet.create([{ node: parsePattern(source) }]), each);
        expect(found.map(({ start, end }) => [start, end])).toEqual(expectedAll(source, each));
      }),
      { numRuns: 1000 },
    );
  });

  it('finds the same with other expressions beside it, in pieces, and in slices', () => {
    fc.assert(
      fc.property(
        fc.array(pattern, { minLength: 1, maxLength: 4 }),
        text,
        fc.array(fc.nat({ max: 5 }), { minLength: 1 }),
        (sources, whole, lengths) => {
          const nodes = sources.map(parseOrReject);
          const known = sources.filter((_, index) => nodes[index]);
          const set = PatternSet.create(nodes.flatMap((node) => (node ? [{ node }] : [])));
          const found: number[][][] = known.map(() => []);
          const search = new Search(set, (index, start, end) => {
            expect(start).toBeGreaterThanOrEqual(search.settled);
            found[index]!.push([start, end]);
          });
          let at = 0;
          for (let index = 0; at < whole.length; index++) {
            const length = lengths[index % lengths.length]! + (index >= lengths.length ? 1 : 0);
            search.add(whole.slice(at, at + length));
            at += length;
            while (!search.advance(20));
            search.release(search.settled);
          }
          search.end();
          while (!search.advance(20));
          expect(found).toEqual(known.map((source) => expectedAll(source, whole)));
          expect(search.settled).toBe(whole.length);
        },
      ),
      { numRuns: 500 },
    );
  });
});
