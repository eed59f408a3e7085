import type { ObservedAttempt, ObservedRun } from './observed.ts';

/** When the attempt was sent; undefined when it failed before. */
export const dispatchOf = (run: ObservedRun, attempt: ObservedAttempt): number | undefined =>
  attempt.error ? attempt.dispatchedAt : run.dispatchedAt;

/** When its answer was over; `now` when it was being read then. */
export const endOf = (run: ObservedRun, attempt: ObservedAttempt, now: number): number =>
  Math.min((attempt.error ? attempt.endedAt : run.upstreamEndedAt) ?? now, now);

/** How long the run waited for providers, over all attempts. Milliseconds. */
export function upstreamMsOf(run: ObservedRun, now: number): number {
  let sum = 0;
  for (const attempt of run.attempts) {
    const from = dispatchOf(run, attempt);
    if (from !== undefined) sum += endOf(run, attempt, now) - from;
  }
  return sum;
}
