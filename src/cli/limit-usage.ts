import { formatUsd } from '../domain/format-usd.ts';
import { usdOf } from '../metering/cost.ts';
import type { LimitUsage } from '../metering/read-limit-usage.ts';
import { formatDistance } from './format-time.ts';
import type { Column } from './table.ts';

/** A limit and what is spent of it, in a table. */
export const usageColumns: readonly Column[] = ['LIMIT', 'SPENT', 'LEFT', 'RESETS'].map((title) => ({
  title,
  isNumber: true,
}));

/** The cells of these columns. */
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

/** What is left never reads as more than it is. */
const roundDown = (usd: number): number => (usd < 1 ? usd : Math.floor(usd * 100) / 100);
