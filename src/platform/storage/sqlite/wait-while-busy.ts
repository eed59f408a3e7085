import { setTimeout } from 'node:timers/promises';
import { readResultCode, resultCodes } from './result-codes.ts';

/** Maximum time that a statement waits for the locks of other processes. */
export const busyTimeoutMs = 5000;

/**
 * Waits for the locks of other processes between attempts. SQLite's wait (`busy_timeout`) blocks the event loop: four
 * writers blocked each other's for up to 236 ms. It also does not wait at all while a new file changes to WAL.
 *
 * @param act must change nothing if it fails
 * @throws the errors of `act`; that the database is locked only after `busyTimeoutMs`
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
