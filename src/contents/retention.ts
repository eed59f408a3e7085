import { setImmediate as nextTurn } from 'node:timers/promises';
import { currentTimeMs } from '../domain/clock.ts';
import { repeatHourly } from '../platform/hourly.ts';

export interface RetentionOptions {
  deleteBefore: (beforeMs: number, max: number) => Promise<number>;
  /** Milliseconds that a content is kept, read each time. */
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
 * Small enough to go unnoticed: each content may be a quarter of a megabyte, and the embedded store blocks our thread.
 */
const SLICE = 50;

/** Deletes expired contents every hour, slice by slice. Several processes may do so at once. */
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
