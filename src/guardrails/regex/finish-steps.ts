import { setImmediate as nextTurn } from 'node:timers/promises';

/** Time after which other work runs. */
const SLICE_MS = 5;

/** Does all of the work at once. */
export function finishSteps<Result>(steps: Generator<void, Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Does the work with other work in between. */
export async function finishInSlices<Result>(steps: Generator<void, Result>): Promise<Result> {
  let startedAt = performance.now();
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    if (performance.now() - startedAt < SLICE_MS) continue;
    await nextTurn();
    startedAt = performance.now();
  }
}
