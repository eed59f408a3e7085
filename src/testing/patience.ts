import { createHash } from 'node:crypto';

/** Variable with the factor that `patient` applies. The configuration of Vitest sets it for the workers. */
export const patienceVariable = 'HEADGATE_TEST_PATIENCE';

const MAX_PATIENCE = 20;
/** Time that the loop of `measurePatience` takes on a quiet machine of the kind on which the time limits were chosen. */
const QUIET_MS = 200;
const HASHED_BYTES = 64 * 1024;
const HASHES = 5000;

/**
 * Measures how much longer work takes than on a quiet machine: a slow processor and other processes both count.
 *
 * @returns 1 to 20
 */
export function measurePatience(): number {
  const bytes = Buffer.alloc(HASHED_BYTES);
  const startedMs = performance.now();
  for (let count = 0; count < HASHES; count++) createHash('sha256').update(bytes).digest();
  const factor = (performance.now() - startedMs) / QUIET_MS;
  return Math.min(MAX_PATIENCE, Math.max(1, Math.ceil(factor * 10) / 10));
}

const factor = Number(process.env[patienceVariable] ?? 1);

/** Returns the time limit of a test, or of what a test waits for, for the speed of this machine. */
export const patient = (quietMs: number): number => Math.ceil(quietMs * factor);
