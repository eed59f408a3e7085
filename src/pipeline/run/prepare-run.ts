import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { Reviser } from '../../domain/reviser.ts';
import type { Run } from './run.ts';

/** Changes a request before it is planned. @returns a reviser for the output of the run; undefined: none */
export type Preparer = (run: Run) => MaybePromise<Reviser<Run> | undefined>;

const none: readonly Reviser<Run>[] = [];

/**
 * Calls the preparers in order.
 *
 * @param before revisers of the preparers that were called already
 * @returns the revisers in the order in which they act; a promise only if a preparer returns one
 */
export function prepareRun(
  run: Run,
  preparers: readonly Preparer[],
  before: readonly Reviser<Run>[] = none,
): MaybePromise<readonly Reviser<Run>[]> {
  let revisers = before;
  for (let at = 0; at < preparers.length; at++) {
    const prepared = preparers[at]!(run);
    if (prepared instanceof Promise) {
      const soFar = revisers;
      return prepared.then((reviser) => {
        if (run.cancellation.reason) throw run.cancellation.reason;
        return prepareRun(run, preparers.slice(at + 1), reviser ? [...soFar, reviser] : soFar);
      });
    }
    if (prepared) revisers = [...revisers, prepared];
  }
  return revisers;
}
