import type { MaybePromise } from '../../domain/maybe-promise.ts';
import { closeRun } from '../accounting/close-run.ts';
import { rememberSession } from './remember-session.ts';
import type { ResponsePipeline } from '../response-pipeline.ts';
import type { Run } from '../run/run.ts';
import { writeResponseEntry } from '../accounting/settle-run.ts';

/** Records the run and the endpoint of its conversation. Idempotent. */
export function closeResponse(pipeline: ResponsePipeline, run: Run): MaybePromise<void> {
  if (run.closed) return run.recorded;
  const recorded = closeRun(pipeline, run, writeResponseEntry);
  rememberSession(run, pipeline.routingContext().sticky);
  return recorded;
}
