import { setImmediate as nextTurn } from 'node:timers/promises';
import { currentTimeMs } from '../domain/clock.ts';
import { repeatHourly } from '../platform/hourly.ts';

export interface RetentionOptions {
  deleteBefore: (beforeMs: number, most: number) => Promise<number>;
  /** Milliseconds that a content is kept, asked anew each time. */
  keepMs: () => number;
  now?: () => number;
  onTrouble: (error: unknown) => void;
}

export interface Retention {
  /** Deletes all that is too old. @returns how many went @throws the store's error */
  sweep(): Promise<number>;
  close(): void;
}

/** Few enough that nobody notices: each may be a quarter of a megabyte, and the embedded store works on our thread. */
const SLICE = 50;

/** Deletes contents whose time is over, slice by slice, every hour; of several processes each may. */
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
