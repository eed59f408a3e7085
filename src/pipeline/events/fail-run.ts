import { asGatewayError } from '../../domain/errors.ts';
import type { ResponseEvent } from '../../domain/events.ts';
import type { Run } from '../run/run.ts';

/**
 * The last events of a run that failed. Before the first event an error keeps its HTTP status instead, unless the
 * response has begun all the same: keep-alive comments were sent, so the status is spent.
 *
 * @returns none if the run has ended already
 */
export const failRun = (run: Run, error: unknown): ResponseEvent[] => run.builder?.fail(asGatewayError(error)) ?? [];
