import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { Verdict } from '../../domain/verdict.ts';
import type { Run } from './run.ts';

/** Inspects the input of a run before any other stage. @throws {GatewayError} if it cannot decide */
export type Inspector = (run: Run) => MaybePromise<Verdict>;

/**
 * Calls the inspectors in order. Each sees the changes of those before it.
 *
 * @returns a promise only if an inspector returns one
 * @throws {GatewayError} of the first inspector that blocks the input
 */
export function inspectInput(run: Run, inspectors: readonly Inspector[], from = 0): MaybePromise<void> {
  for (let at = from; at < inspectors.length; at++) {
    const verdict = inspectors[at]!(run);
    if (verdict instanceof Promise) {
      return verdict.then((settled) => {
        if (run.cancellation.reason) throw run.cancellation.reason;
        apply(run, settled);
        return inspectInput(run, inspectors, at + 1);
      });
    }
    apply(run, verdict);
  }
}

function apply(run: Run, verdict: Verdict): void {
  if (verdict.type === 'pass') return;
  const { input, settings } = verdict.change ?? {};
  if (input) run.input.replace(input);
  if (settings) Object.assign(run.request, settings);
  if (verdict.type === 'replace') return;
  run.isBlocked = true;
  throw verdict.error;
}
