import { writeDollars } from '../metering/cost.ts';
import type { LimitUsage } from '../metering/read-limit-usage.ts';

/** Beside the limit, in a table. */
export const usageColumns = ['SPENT', 'LEFT', 'BEGINS ANEW'] as const;

/** The cells of these columns. */
export const writeUsageCells = ({ usageNanoUsd, remainingNanoUsd, resetsAtMs }: LimitUsage): string[] => [
  writeDollars(usageNanoUsd),
  writeDollars(remainingNanoUsd),
  resetsAtMs === null ? 'never' : new Date(resetsAtMs).toISOString(),
];
