import { asGatewayError } from '../../domain/errors.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import { totalOf } from '../../metering/cost.ts';
import { copyError } from '../copy-error.ts';
import { describeErrors } from './explain-failures.ts';
import type { RunBase } from '../run/run.ts';
import { attemptsOf } from '../run/step.ts';

/**
 * Adds the cost of failed attempts to the reservation.
 *
 * @returns a promise only if the cost is reserved in another process
 * @throws {GatewayError} if the cost exceeds a spending limit, with those attempts in its metadata
 */
export function raiseReservation(run: RunBase): MaybePromise<void> {
  if (!run.reservation) return undefined;
  const failed = attemptsOf(run).flatMap(({ endpoint, spent }) =>
    spent ? { costNanoUsd: totalOf(spent.cost), isByok: endpoint.workspace !== undefined } : [],
  );
  if (failed.length === 0) return undefined;
  const refuse = (error: unknown): never => {
    const refusal = asGatewayError(error);
    const metadata = { ...refusal.metadata, previous_errors: describeErrors(attemptsOf(run)) };
    throw copyError(refusal, refusal.message, { metadata });
  };
  try {
    const raised = run.reservation.raise(failed);
    return raised instanceof Promise ? raised.catch(refuse) : undefined;
  } catch (error) {
    return refuse(error);
  }
}
