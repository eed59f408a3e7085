import { formatUsd } from '../domain/format-usd.ts';
import { usdOf } from '../metering/cost.ts';
import type { LimitUsage } from '../metering/read-limit-usage.ts';
import { formatDistance } from './format-time.ts';
import type { Column } from './table.ts';

/** Columns of a limit and its usage. */
export const usageColumns: readonly Column[] = ['LIMIT', 'SPENT', 'LEFT', 'RESETS'].map((title) => ({
  title,
  isNumber: true,
}));

/** Writes the cells of these columns. */
export const writeUsageCells = (
  limitNanoUsd: bigint,
  { usageNanoUsd, remainingNanoUsd, resetsAtMs }: LimitUsage,
  nowMs: number,
): string[] => [
  formatUsd(usdOf(limitNanoUsd)),
  formatUsd(usdOf(usageNanoUsd)),
  formatUsd(roundDown(usdOf(remainingNanoUsd))),
  resetsAtMs === null ? 'never' : formatDistance(resetsAtMs, nowMs),
];

/** Rounds down, so that the rest is never overstated. */
const roundDown = (usd: number): number => (usd < 1 ? usd : Math.floor(usd * 100) / 100);
