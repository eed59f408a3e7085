import { asGatewayError } from '../domain/errors.ts';
import type { ResponseEvent } from '../domain/events.ts';
import type { Run } from './run.ts';

/**
 * The last events of a run that broke. Before any output an error keeps its HTTP status instead, unless the answer has
 * begun all the same: keep-alive comments went out, so the status is spent.
 *
 * @returns none when there is nothing to tell them with: no route was found, or the end has been told
 */
export function createFailureEvents(run: Run, error: unknown): ResponseEvent[] {
  return run.builder && !run.builder.ended ? run.builder.fail(asGatewayError(error)) : [];
}
