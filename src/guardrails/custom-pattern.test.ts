import { describe, expect, it } from 'vitest';
import { compileFilters } from './compile-filters.ts';
import { checkCustomFilters, MAX_LABEL_LENGTH, MAX_PATTERN_LENGTH } from './custom-pattern.ts';
import { FilterScan } from './filter-scan.ts';

describe('a custom filter', () => {
  it('is accepted with a pattern and a label of the maximum lengths', async () => {
    const words = Array.from({ length: 20_000 }, (_, index) => (10_000 + index).toString()).join('|');
    const pattern = words.slice(0, MAX_PATTERN_LENGTH - 1).replace(/\|$/, '');
    expect(await checkCustomFilters([{ pattern, label: 'x'.repeat(MAX_LABEL_LENGTH) }], 'content_filters')).toEqual([]);
    const scan = new FilterScan(compileFilters([{ type: 'custom', pattern, label: null, action: 'redact' }]));
    expect(scan.push('id 12345, 9999') + scan.finish()).toBe('id [REDACTED], 9999');
  });

  it.each([
    ['a'.repeat(MAX_PATTERN_LENGTH + 1), 'The pattern has 100001 characters, but at most 100000 are allowed.'],
    ['(a+)+', 'The quantifier + at 4 is a nested quantifier: it repeats a repetition. Remove one of them.'],
  ])('is rejected with a code and a reason', async (pattern, message) => {
    const code = 'invalid_regex_pattern';
    expect(await checkCustomFilters([{ pattern: 'a' }, { pattern }], 'content_filters')).toEqual([
      { path: 'content_filters[1].pattern', message, code },
    ]);
  });

  it('is rejected if the label is too long', async () => {
    expect(await checkCustomFilters([{ pattern: 'a', label: 'x'.repeat(101) }], 'f')).toEqual([
      { path: 'f[0].label', message: 'must have at most 100 characters, got 101' },
    ]);
  });

  it('is rejected if there are more than 200, or they are too large together', async () => {
    expect(await checkCustomFilters(Array(201).fill({ pattern: 'a' }), 'f')).toEqual([
      { path: 'f', message: 'must have at most 200 items, got 201' },
    ]);
    expect(await checkCustomFilters(Array(70).fill({ pattern: 'a{4000}' }), 'f')).toEqual([
      expect.objectContaining({ path: 'f', code: 'invalid_regex_pattern' }),
    ]);
  });

  it.each([
    ['of many counts', Array(2).fill('[a-z]{1,4000}x')],
    ['of many expressions', Array(200).fill('[ab]*a[ab]{30}c')],
    ['of counts in counts', ['(?:[a-y]{1,90}x?){1,60}0']],
  ])('is rejected if a character may continue very many parts: %s', async (_, patterns) => {
    const issues = await checkCustomFilters(
      patterns.map((pattern: string) => ({ pattern })),
      'f',
    );
    expect(issues).toEqual([
      { path: 'f', message: expect.stringContaining('The patterns are too slow:'), code: 'invalid_regex_pattern' },
    ]);
  });

  it('may be a long list of words, which are not slow', async () => {
    const words = Array.from({ length: 10_000 }, (_, index) => `${((index * 2_654_435_761) >>> 0).toString(36)}é`);
    expect(await checkCustomFilters([{ pattern: words.join('|') }], 'f')).toEqual([]);
  });

  it('is rejected with a large class, which the JavaScript engine would take long for', async () => {
    const characters = Array.from({ length: 2500 }, (_, index) => String.fromCharCode(0x5000 - 2 * index)).join('');
    const issues = await checkCustomFilters([{ pattern: `a[${characters}]` }], 'f');
    expect(issues).toMatchObject([{ path: 'f[0].pattern', code: 'invalid_regex_pattern' }]);
    expect(issues[0]!.message).toContain('The class at 1 has 2501 characters');
    const many = Array.from({ length: 10 }, () => `[${characters.slice(0, 1500)}]`).join('');
    expect(await checkCustomFilters([{ pattern: many }], 'f')).toHaveLength(1);
  });

  it('is rejected with very many different classes', async () => {
    const classes = (from: number) =>
      Array.from({ length: 60 }, (_, index) => `[\\p{L}\\u{${(0xe000 + from + 2 * index).toString(16)}}]`).join('');
    const [one] = await checkCustomFilters([{ pattern: classes(0) }], 'f');
    expect(one).toMatchObject({ path: 'f[0].pattern', code: 'invalid_regex_pattern' });
    expect(one!.message).toContain('too many different classes');
    const patterns = Array.from({ length: 60 }, (_, index) => ({ pattern: classes(120 * index).slice(0, 15) }));
    const [all] = await checkCustomFilters(patterns, 'f');
    expect(all).toMatchObject({ path: 'f', code: 'invalid_regex_pattern' });
  });
});
