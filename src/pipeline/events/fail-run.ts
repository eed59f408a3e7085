import { asGatewayError } from '../../domain/errors.ts';
import type { ResponseEvent } from '../../domain/events.ts';
import type { Run } from '../run/run.ts';

/**
 * Creates the last events of a failed run. Before the first event, an error keeps its HTTP status instead, unless
 * keep-alive comments have already sent the status.
 *
 * @returns none if the run has ended already
 */
export const failRun = (run: Run, error: unknown): ResponseEvent[] => run.builder?.fail(asGatewayError(error)) ?? [];
