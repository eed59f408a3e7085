import type { MaybePromise } from '../domain/maybe-promise.ts';
import type { CompiledFilters } from './compile-filters.ts';
import { FilterScan, type FilterFinding } from './filter-scan.ts';

/** What the filters found in a text. */
export interface ScanResult {
  /** The text with placeholders. Of a blocked text only what is before the match. */
  readonly text: string;
  readonly isBlocked: boolean;
  readonly findings: readonly FilterFinding[];
  /** Number of findings of each filter. */
  readonly counts: readonly number[];
}

/**
 * Scans a whole text, in slices of a few milliseconds. A text that one slice is enough for is scanned at once.
 *
 * @param pause lets other work run between two slices
 * @throws the error of `pause`: that is how a scan is cancelled
 */
export function scanText(filters: CompiledFilters, text: string, pause: () => Promise<void>): MaybePromise<ScanResult> {
  const scan = new FilterScan(filters);
  scan.add(text);
  scan.end();
  return scan.advance() ? resultOf(scan) : scanSlices(scan, pause);
}

async function scanSlices(scan: FilterScan, pause: () => Promise<void>): Promise<ScanResult> {
  do await pause();
  while (!scan.advance());
  return resultOf(scan);
}

const resultOf = (scan: FilterScan): ScanResult => ({
  text: scan.take(),
  isBlocked: scan.blocked,
  findings: scan.findings,
  counts: scan.counts,
});
