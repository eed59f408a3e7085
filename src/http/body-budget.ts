import { getHeapStatistics } from 'node:v8';

/** A smaller body is not counted: it takes no more memory than its connection. */
export const COUNTED_BYTES = 64 * 1024;

/**
 * An eighth of the heap. While a body is parsed and translated, its text is in memory up to three times, with two bytes
 * for each character in the worst case.
 */
export const defaultBodyMemory = (): number => Math.floor(getHeapStatistics().heap_size_limit / 8);

/** Memory for the bodies of all requests in flight. */
export class BodyBudget {
  private readonly limitBytes: () => number;
  private reserved = 0;

  constructor(limitBytes: () => number) {
    this.limitBytes = limitBytes;
  }

  get limit(): number {
    return this.limitBytes();
  }

  /** @returns false if there is no room. A body that is larger than the budget is accepted if it is the only one. */
  reserve(bytes: number): boolean {
    if (this.reserved > 0 && this.reserved + bytes > this.limitBytes()) return false;
    this.reserved += bytes;
    return true;
  }

  release(bytes: number): void {
    this.reserved -= bytes;
  }
}
