import type { SpendRow } from '../api/types.ts';
import { sumNano, toDollars } from '../logic/money.ts';
import { type Interval, nameOfInterval } from '../logic/zone.ts';
import type { Measure } from './spend-search.ts';

/** What a request cost, with the gateway's provider keys and with those of the workspaces. */
export const costOf = (row: Pick<SpendRow, 'usage_nano_usd' | 'byok_usage_nano_usd'>): bigint =>
  BigInt(row.usage_nano_usd) + BigInt(row.byok_usage_nano_usd);

/** @returns a value for the height of a bar. Exact amounts are in the tables */
export function measureRow(row: SpendRow, measure: Measure): number {
  if (measure === 'cost') return toDollars(costOf(row));
  return measure === 'requests' ? row.requests : row.prompt_tokens + row.completion_tokens;
}

export interface Series {
  /** The value of the dimension. Null: the requests had none. Undefined: all other values. */
  value: string | null | undefined;
  values: number[];
}

/** Series of a chart. The others are one series. */
export const MAX_SERIES = 7;

/**
 * Makes a series of each of the largest values of a dimension.
 *
 * @param names the intervals of the chart
 * @param field the field of a row that has the value
 */
export function stackRows(
  rows: readonly SpendRow[],
  {
    names,
    interval,
    field,
    measure,
  }: { names: readonly string[]; interval: Interval; field: keyof SpendRow; measure: Measure },
): Series[] {
  const at = new Map(names.map((name, index) => [name, index]));
  const totals = new Map<string | null, number>();
  const readValue = (row: SpendRow) => (row[field] ?? null) as string | null;
  for (const row of rows) totals.set(readValue(row), (totals.get(readValue(row)) ?? 0) + measureRow(row, measure));
  const largest = [...totals].sort((a, b) => b[1] - a[1]).map(([value]) => value);
  const isSplit = largest.length > MAX_SERIES + 1;
  const shown = isSplit ? largest.slice(0, MAX_SERIES) : largest;
  const series: Series[] = shown.map((value) => ({ value, values: names.map(() => 0) }));
  if (isSplit) series.push({ value: undefined, values: names.map(() => 0) });
  for (const row of rows) {
    const index = at.get(nameOfInterval(row.start, interval));
    if (index === undefined) continue;
    const found = shown.indexOf(readValue(row));
    series[found === -1 ? series.length - 1 : found]!.values[index]! += measureRow(row, measure);
  }
  return series;
}

export interface Totals {
  costNano: bigint;
  byokNano: bigint;
  requests: number;
  failed: number;
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  unpriced: number;
}

/** Adds up rows. Money stays exact. */
export function sumRows(rows: readonly SpendRow[]): Totals {
  const sum = (field: (row: SpendRow) => number) => rows.reduce((total, row) => total + field(row), 0);
  return {
    costNano: sumNano(rows.map(costOf)),
    byokNano: sumNano(rows.map((row) => BigInt(row.byok_usage_nano_usd))),
    requests: sum((row) => row.requests),
    failed: sum((row) => row.errors + row.rejected),
    inputTokens: sum((row) => row.prompt_tokens),
    cachedTokens: sum((row) => row.cached_tokens),
    outputTokens: sum((row) => row.completion_tokens),
    unpriced: sum((row) => row.unpriced),
  };
}
