import { vi } from 'vitest';

export interface HeldTimers {
  /** Timers that have not ended. */
  list(): unknown[];
  /** Ends the timers of a time at once. */
  end(delayMs: number): void;
}

/**
 * Holds the timers of some times back until a test ends them. All others run as usual: a clock that a test advances would
 * also end requests that are on their way. `vi.restoreAllMocks` ends it.
 */
export function holdTimers(...delaysMs: number[]): HeldTimers {
  const held = new Map<unknown, { callback: () => void; delayMs: number }>();
  const { setTimeout: start, clearTimeout: clear } = globalThis;
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((callback: () => void, delayMs = 0, ...rest: unknown[]) => {
    if (!delaysMs.includes(delayMs)) return start(callback, delayMs, ...(rest as []));
    const timer = start(() => {}, 2 ** 31 - 1).unref();
    held.set(timer, { callback, delayMs });
    return timer;
  }) as typeof setTimeout);
  vi.spyOn(globalThis, 'clearTimeout').mockImplementation((timer) => {
    held.delete(timer);
    clear(timer as NodeJS.Timeout);
  });
  return {
    list: () => [...held.keys()],
    end(delayMs) {
      for (const [timer, one] of [...held]) {
        if (one.delayMs !== delayMs) continue;
        held.delete(timer);
        clear(timer as NodeJS.Timeout);
        one.callback();
      }
    },
  };
}
