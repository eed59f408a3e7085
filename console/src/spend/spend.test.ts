import { describe, expect, it } from 'vitest';
import type { SpendRow } from '../api/types.ts';
import { readSpendSearch, readSpendView } from './spend-search.ts';
import { MAX_SERIES, stackRows, sumRows } from './stack-rows.ts';

const row = (day: string, model: string | null, nano: bigint): SpendRow => ({
  start: `${day}T00:00:00+01:00`,
  model,
  requests: 2,
  errors: 1,
  rejected: 0,
  cancelled: 0,
  incomplete: 0,
  unpriced: 0,
  prompt_tokens: 10,
  cached_tokens: 4,
  cache_write_tokens: 0,
  completion_tokens: 5,
  reasoning_tokens: 0,
  usage: 0,
  byok_usage_inference: 0,
  usage_nano_usd: String(nano),
  byok_usage_nano_usd: '1',
});

describe('the view', () => {
  const now = Date.parse('2026-11-30T23:30:00Z');

  it('has the dates of the zone', () => {
    expect(readSpendView({}, 'Europe/Berlin', now)).toMatchObject({
      since: '2026-11-01',
      until: '2026-12-01',
      by: 'model',
    });
    expect(readSpendView({ zone: 'UTC', range: 'today' }, 'Europe/Berlin', now)).toMatchObject({
      since: '2026-11-30',
      until: '2026-11-30',
      interval: 'hour',
    });
  });

  it.each([
    [{ range: 'month' }, '2026-12-01', '2026-12-01', false],
    [{ range: 'last-month' }, '2026-11-01', '2026-11-30', true],
    [{ since: '2026-02-10', until: '2026-02-20' }, '2026-02-10', '2026-02-20', true],
    [{ since: '2026-11-20' }, '2026-11-20', '2026-12-01', false],
    [{ until: '2026-11-20' }, '2026-11-01', '2026-11-20', true],
    [{ since: '2026-11-20', until: '2026-11-01' }, '2026-11-20', '2026-11-20', true],
    [{ since: '0001-01-01', until: '9999-01-01' }, '2020-01-01', '2026-12-01', false],
    [{ since: 'soon', range: 'last-month' }, '2026-11-01', '2026-11-30', true],
  ])('%j has dates', (search, since, until, isPast) => {
    expect(readSpendView(search, 'Europe/Berlin', now)).toMatchObject({ since, until, isPast });
  });

  it('has no short intervals for a long range', () => {
    expect(readSpendView({ since: '2026-01-01', interval: 'hour' }, 'UTC', now).interval).toBe('month');
    expect(readSpendView({ range: '7d', interval: 'hour' }, 'UTC', now).interval).toBe('hour');
    expect(readSpendView({ since: '2021-01-01', interval: 'day' }, 'UTC', now).interval).toBe('month');
  });

  it('has one name for a zone', () => {
    expect(readSpendView({ zone: 'Etc/UTC' }, 'Europe/Berlin', now).zone).toBe('UTC');
  });

  it('ignores values that do not exist', () => {
    const search = readSpendSearch({
      range: 'ever',
      by: 'toString',
      zone: 'Mars/Base',
      interval: 'hour',
      evil: 'x',
      model: 'a/b',
    });
    expect(search).not.toHaveProperty('evil');
    expect(readSpendView({ ...search, range: '12m' }, 'UTC', now)).toMatchObject({
      by: 'model',
      zone: 'UTC',
      interval: 'month',
      filters: { model: 'a/b' },
    });
    expect(readSpendView({ by: 'tag:team' }, 'UTC', now).by).toBe('tag:team');
  });
});

describe('the series', () => {
  const names = ['2026-11-29', '2026-11-30'];
  const options = { names, interval: 'day', field: 'model', measure: 'cost' } as const;

  it('have a value for each interval, the largest series first', () => {
    const rows = [
      row('2026-11-30', 'a', 1_999_999_999n),
      row('2026-11-29', 'b', 4_999_999_999n),
      row('2026-11-30', null, 0n),
    ];
    expect(stackRows(rows, options)).toEqual([
      { value: 'b', values: [5, 0] },
      { value: 'a', values: [0, 2] },
      { value: null, values: [0, 1e-9] },
    ]);
  });

  it('join what is small', () => {
    const rows = Array.from({ length: 12 }, (_, at) => row('2026-11-29', `m${at}`, 999_999_999n));
    const series = stackRows(rows, options);
    expect(series).toHaveLength(MAX_SERIES + 1);
    expect(series.at(-1)).toEqual({ value: undefined, values: [5, 0] });
  });
});

it('sums are exact', () => {
  const sum = sumRows([row('2026-11-29', 'a', 9_007_199_254_740_993n), row('2026-11-30', 'a', 1n)]);
  expect(sum.costNano).toBe(9_007_199_254_740_996n);
  expect(sum).toMatchObject({ byokNano: 2n, requests: 4, failed: 2, cachedTokens: 8 });
});
