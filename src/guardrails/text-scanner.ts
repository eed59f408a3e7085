import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import type { CompiledFilters } from './compile-filters.ts';
import { SLICE_WORK } from './filter-scan.ts';
import { type ScanResult, scanText, type TextForm } from './scan-text.ts';

/** Units of work that a scan costs by itself. */
const SCAN_WORK = 300;

/** Scans the texts of a request one by one. Other requests are served in between, however many texts there are. */
export class TextScanner {
  private readonly cancellation: { readonly reason?: Error | undefined };
  /** Units of work since the last pause. */
  private work = 0;

  constructor(cancellation: { readonly reason?: Error | undefined }) {
    this.cancellation = cancellation;
  }

  /**
   * @returns a promise only if other work runs first
   * @throws the reason of the cancellation
   */
  scan(filters: CompiledFilters, text: string, form: TextForm): MaybePromise<ScanResult> {
    if (this.work < SLICE_WORK) return this.scanNow(filters, text, form);
    return this.pause().then(() => this.scanNow(filters, text, form));
  }

  private scanNow(filters: CompiledFilters, text: string, form: TextForm): MaybePromise<ScanResult> {
    const scanned = scanText(filters, text, this.pause, form);
    return scanned instanceof Promise ? scanned.then((result) => this.note(result)) : this.note(scanned);
  }

  private note(result: ScanResult): ScanResult {
    this.work += result.work + SCAN_WORK;
    return result;
  }

  private readonly pause = async (): Promise<void> => {
    this.work = 0;
    await nextTurn();
    if (this.cancellation.reason) throw this.cancellation.reason;
  };
}
