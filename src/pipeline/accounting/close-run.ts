import type { InFlightEntry, LedgerEntry } from '../../domain/ledger-entry.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { Attempt } from '../run/attempt.ts';
import type { PipelineBase } from '../pipeline.ts';
import { isOverLimit, type RunBase } from '../run/run.ts';
import { lastBegunOf } from '../run/step.ts';

/**
 * Writes to the journal that an attempt is about to be sent.
 *
 * @throws {GatewayError} if it must not be sent
 */
export function beginAttempt<R extends RunBase>(
  { begin }: Pick<PipelineBase<R>, 'begin'>,
  run: R,
  attempt: Attempt,
  write: () => InFlightEntry,
): void {
  if (begin) attempt.begun = begin(write(), lastBegunOf(run));
}

/**
 * Records an ended run, regardless of its outcome. Idempotent.
 *
 * @returns a promise only if the entry must be on disk before the client has the whole response
 */
export function closeRun<R extends RunBase>(
  pipeline: Pick<PipelineBase<R>, 'record' | 'recordRejected' | 'observe'>,
  run: R,
  writeEntry: (run: R) => LedgerEntry,
): MaybePromise<void> {
  if (run.closed) return run.recorded;
  run.closed = true;
  const entry = writeEntry(run);
  run.recordedTokens = entry.inputTokens + entry.outputTokens;
  const begun = lastBegunOf(run);
  if (pipeline.recordRejected && !begun && isOverLimit(run)) pipeline.recordRejected(entry);
  else run.recorded = pipeline.record(entry, begun);
  run.reservation?.settle(entry);
  pipeline.observe?.(run, entry);
  return run.recorded;
}
