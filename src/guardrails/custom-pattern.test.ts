import { describe, expect, it } from 'vitest';
import { compileFilters } from './compile-filters.ts';
import { checkCustomFilters, MAX_LABEL_LENGTH, MAX_PATTERN_LENGTH } from './custom-pattern.ts';
import { FilterScan } from './filter-scan.ts';

describe('a custom filter', () => {
  it('is accepted with a pattern and a label of the maximum lengths', () => {
    const words = Array.from({ length: 20_000 }, (_, index) => (10_000 + index).toString()).join('|');
    const pattern = words.slice(0, MAX_PATTERN_LENGTH - 1).replace(/\|$/, '');
    expect(checkCustomFilters([{ pattern, label: 'x'.repeat(MAX_LABEL_LENGTH) }], 'content_filters')).toEqual([]);
    const scan = new FilterScan(compileFilters([{ type: 'custom', pattern, label: null, action: 'redact' }]));
    expect(scan.push('id 12345, 9999') + scan.finish()).toBe('id [REDACTED], 9999');
  });

  it.each([
    ['a'.repeat(MAX_PATTERN_LENGTH + 1), 'The pattern has 100001 characters, but at most 100000 are allowed.'],
    ['(a+)+', 'The quantifier + at 4 is a nested quantifier: it repeats a repetition. Remove one of them.'],
  ])('is rejected with a code and a reason', (pattern, message) => {
    const code = 'invalid_regex_pattern';
    expect(checkCustomFilters([{ pattern: 'a' }, { pattern }], 'content_filters')).toEqual([
      { path: 'content_filters[1].pattern', message, code },
    ]);
  });

  it('is rejected if the label is too long', () => {
    expect(checkCustomFilters([{ pattern: 'a', label: 'x'.repeat(101) }], 'f')).toEqual([
      { path: 'f[0].label', message: 'must have at most 100 characters, got 101' },
    ]);
  });

  it('is rejected if there are more than 200, or they are too large together', () => {
    expect(checkCustomFilters(Array(201).fill({ pattern: 'a' }), 'f')).toEqual([
      { path: 'f', message: 'must have at most 200 items, got 201' },
    ]);
    expect(checkCustomFilters(Array(70).fill({ pattern: 'a{4000}' }), 'f')).toEqual([
      expect.objectContaining({ path: 'f', code: 'invalid_regex_pattern' }),
    ]);
  });
});
