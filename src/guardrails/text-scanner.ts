import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import type { CompiledFilters } from './compile-filters.ts';
import { type ScanResult, scanText, type TextForm } from './scan-text.ts';

/** Characters that are scanned before other work runs: 0.2 to 5 ms. */
const SLICE_LENGTH = 30_000;
/** Characters that a scan costs by itself. */
const SCAN_LENGTH = 200;

/** Scans the texts of a request one by one. Other requests are served in between, however many texts there are. */
export class TextScanner {
  private readonly cancellation: { readonly reason?: Error | undefined };
  private length = 0;

  constructor(cancellation: { readonly reason?: Error | undefined }) {
    this.cancellation = cancellation;
  }

  /**
   * @returns a promise only if other work runs first
   * @throws the reason of the cancellation
   */
  scan(filters: CompiledFilters, text: string, form: TextForm): MaybePromise<ScanResult> {
    this.length += text.length + SCAN_LENGTH;
    if (this.length < SLICE_LENGTH) return scanText(filters, text, this.pause, form);
    return this.pause().then(() => scanText(filters, text, this.pause, form));
  }

  private readonly pause = async (): Promise<void> => {
    this.length = 0;
    await nextTurn();
    if (this.cancellation.reason) throw this.cancellation.reason;
  };
}
