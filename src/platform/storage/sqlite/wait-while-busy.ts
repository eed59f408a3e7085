import { setTimeout } from 'node:timers/promises';
import { readResultCode, resultCodes } from './result-codes.ts';

/** How long a statement waits for the locks of other processes. */
export const busyTimeoutMs = 5000;

/**
 * Waits for the locks of other processes between tries. SQLite's own wait (`busy_timeout`) holds up the event loop (four
 * writers stalled each other's for up to 236 ms), and does not wait at all where a new file changes to WAL.
 *
 * @param act must change nothing when it fails
 * @throws what `act` throws; that the database is locked only after `busyTimeoutMs`
 */
export async function waitWhileBusy<T>(act: () => T | Promise<T>): Promise<T> {
  for (const deadline = Date.now() + busyTimeoutMs; ; await setTimeout(1)) {
    try {
      return await act();
    } catch (error) {
      if (readResultCode(error) !== resultCodes.busy || Date.now() >= deadline) throw error;
    }
  }
}
