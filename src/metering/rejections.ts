import { currentTimeMs } from '../domain/clock.ts';
import type { LedgerEntry } from '../domain/ledger-entry.ts';
import { readHistory } from '../domain/request-history.ts';

/** Entries of rejected requests of a key within a minute. */
export const MAX_REJECTIONS = 20;
const WINDOW_MS = 60_000;

export interface RejectionLog {
  /**
   * Records a rejected request, unless its key has many in this minute. The last one of these has an entry that counts the
   * others, at the end of the minute.
   */
  note(entry: LedgerEntry): void;
  /** Records what is left. */
  close(): void;
}

/** The rejected requests of a key in one minute. */
interface Window {
  endsAtMs: number;
  count: number;
  /** The last request without an entry. Undefined: each has one. */
  last: LedgerEntry | undefined;
}

/**
 * Opens the log of requests that the limits of the gateway or the state of their key reject. It has entries of known keys
 * only, so that no caller can fill the store. An entry costs nothing.
 *
 * @param canRecord whether the ledger can keep another entry
 */
export function openRejectionLog(
  record: (entry: LedgerEntry) => unknown,
  canRecord: () => boolean,
  now: () => number = currentTimeMs,
): RejectionLog {
  const windows = new Map<string, Window>(); // by the hash of the key
  let timer: NodeJS.Timeout | undefined;

  function end(keyHash: string, { last, count }: Window): void {
    windows.delete(keyHash);
    if (last && canRecord()) record(withOmitted(last, count - MAX_REJECTIONS - 1));
  }

  /** Ends the windows at their time. The first one of the map has begun first. */
  function schedule(): void {
    const [first] = windows.values();
    if (!first) return;
    timer ??= setTimeout(
      () => {
        timer = undefined;
        const nowMs = now();
        for (const [keyHash, window] of windows) if (window.endsAtMs <= nowMs) end(keyHash, window);
        schedule();
      },
      Math.max(1, first.endsAtMs - now()),
    ).unref();
  }

  return {
    note(entry) {
      const { keyHash } = entry;
      const nowMs = now();
      let window = windows.get(keyHash);
      if (window && window.endsAtMs <= nowMs) {
        end(keyHash, window);
        window = undefined;
      }
      if (!window) {
        window = { endsAtMs: nowMs + WINDOW_MS, count: 0, last: undefined };
        windows.set(keyHash, window);
        schedule();
      }
      window.count++;
      if (window.count > MAX_REJECTIONS) window.last = entry;
      else if (canRecord()) record(entry);
    },
    close() {
      clearTimeout(timer);
      for (const [keyHash, window] of windows) end(keyHash, window);
    },
  };
}

function withOmitted(entry: LedgerEntry, omittedRequests: number): LedgerEntry {
  if (omittedRequests === 0) return entry;
  return { ...entry, history: JSON.stringify({ ...readHistory(entry.history), omittedRequests }) };
}
