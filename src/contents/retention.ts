import { setImmediate as nextTurn } from 'node:timers/promises';
import { currentTimeMs } from '../domain/clock.ts';
import { repeatHourly } from '../platform/hourly.ts';

export interface RetentionOptions {
  deleteBefore: (beforeMs: number, max: number) => Promise<number>;
  /** Milliseconds that contents are kept, read each time. */
  keepMs: () => number;
  now?: () => number;
  onTrouble: (error: unknown) => void;
}

export interface Retention {
  /** Deletes all expired contents. @returns their number @throws the store's error */
  sweep(): Promise<number>;
  close(): void;
}

/**
 * Maximum contents per deletion. A content may have a quarter of a megabyte, and the embedded store blocks the main
 * thread.
 */
const SLICE = 50;

/** Deletes expired contents every hour, slice by slice. Several processes may do so concurrently. */
export function openRetention({ deleteBefore, keepMs, now = currentTimeMs, onTrouble }: RetentionOptions): Retention {
  async function sweep(signal?: AbortSignal): Promise<number> {
    const beforeMs = now() - keepMs();
    let deleted = 0;
    for (let slice = SLICE; slice === SLICE && !signal?.aborted; deleted += slice) {
      slice = await deleteBefore(beforeMs, SLICE);
      await nextTurn();
    }
    return deleted;
  }
  return { sweep: () => sweep(), close: repeatHourly(sweep, onTrouble).close };
}
