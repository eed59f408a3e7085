import { setImmediate as nextTurn } from 'node:timers/promises';

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

/** Not at once: a start has other things to do. */
const FIRST_MS = 60_000;
const EVERY_MS = 3_600_000;
/** Few enough that nobody notices: each may be a quarter of a megabyte, and the embedded store works on our thread. */
const SLICE = 50;

/** Deletes contents whose time is over, slice by slice, every hour; of several processes each may. */
export function openRetention({ deleteBefore, keepMs, now = Date.now, onTrouble }: RetentionOptions): Retention {
  let closed = false;
  async function sweep(): Promise<number> {
    const beforeMs = now() - keepMs();
    let deleted = 0;
    for (let slice = SLICE; slice === SLICE && !closed; deleted += slice) {
      slice = await deleteBefore(beforeMs, SLICE);
      await nextTurn();
    }
    return deleted;
  }
  let timer: NodeJS.Timeout;
  const schedule = (ms: number): void => {
    timer = setTimeout(() => {
      sweep()
        .catch((error) => closed || onTrouble(error))
        .finally(() => closed || schedule(EVERY_MS));
    }, ms).unref();
  };
  schedule(FIRST_MS);
  return {
    sweep,
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}
