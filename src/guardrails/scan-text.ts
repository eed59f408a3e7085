import type { MaybePromise } from '../domain/maybe-promise.ts';
import type { CompiledFilters } from './compile-filters.ts';
import { FilterScan, type FilterFinding, Findings } from './filter-scan.ts';
import { JsonScan } from './json-scan.ts';
import type { TextScan } from './text-scan.ts';

/** Findings of the filters in a text. */
export interface ScanResult {
  /** The text with placeholders. A blocked text ends before the match. */
  readonly text: string;
  readonly isBlocked: boolean;
  readonly findings: readonly FilterFinding[];
  /** Number of findings of each filter. */
  readonly counts: readonly number[];
  /** Units of work. */
  readonly work: number;
}

export type TextForm = 'plain' | 'json';

/**
 * Scans a whole text, in slices of a few milliseconds. A text that fits into one slice is scanned synchronously.
 *
 * @param pause lets other work run between two slices
 * @param form `json`: each string is a separate text
 * @throws the error of `pause`: that is how a scan is cancelled
 */
export function scanText(
  filters: CompiledFilters,
  text: string,
  pause: () => Promise<void>,
  form: TextForm = 'plain',
): MaybePromise<ScanResult> {
  const found = new Findings(filters);
  const scan = form === 'json' ? new JsonScan(filters, found) : new FilterScan(filters, found);
  scan.add(text);
  scan.end();
  return scan.advance() ? createResult(scan, found) : scanSlices(scan, found, pause);
}

async function scanSlices(scan: TextScan, found: Findings, pause: () => Promise<void>): Promise<ScanResult> {
  do await pause();
  while (!scan.advance());
  return createResult(scan, found);
}

const createResult = (scan: TextScan, { list, counts }: Findings): ScanResult => ({
  text: scan.take(),
  isBlocked: scan.blocked,
  findings: list,
  counts,
  work: scan.work,
});
