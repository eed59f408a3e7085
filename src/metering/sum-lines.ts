import { addImageCounts } from '../domain/images.ts';
import type { LedgerEntry, LedgerLine } from '../domain/ledger-entry.ts';
import { special, specialCounts } from '../domain/usage.ts';

/** The sums of the counts of all lines. */
export type LineSums = Pick<
  LedgerEntry,
  | 'inputTokens'
  | 'cachedTokens'
  | 'cacheWriteTokens'
  | 'outputTokens'
  | 'reasoningTokens'
  | 'upstreamCostNanoUsd'
  | 'special'
  | 'pictures'
  | 'estimated'
>;

/** Adds up the counts of lines. */
export function sumLines(lines: readonly LedgerLine[]): LineSums {
  const sum = (read: (line: LedgerLine) => number | null | undefined) =>
    lines.reduce((total, line) => total + (read(line) ?? 0), 0);
  const isReported = lines.some(({ upstreamCostNanoUsd }) => upstreamCostNanoUsd !== null);
  const sums: LineSums = {
    inputTokens: sum((line) => line.inputTokens),
    cachedTokens: sum((line) => line.cachedTokens),
    cacheWriteTokens: sum((line) => line.cacheWriteTokens),
    outputTokens: sum((line) => line.outputTokens),
    reasoningTokens: sum((line) => line.reasoningTokens),
    upstreamCostNanoUsd: isReported ? sum((line) => line.upstreamCostNanoUsd) : null,
    estimated: lines.some(({ estimated }) => estimated),
  };
  const counts = special(Object.fromEntries(specialCounts.map((name) => [name, sum((line) => line.special?.[name])])));
  if (counts) sums.special = counts;
  const pictures = lines.flatMap((line) => line.pictures ?? []);
  if (pictures.length > 0) sums.pictures = pictures.reduce(addImageCounts);
  return sums;
}
