import { asGatewayError } from '../../domain/errors.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import { totalOf } from '../../metering/cost.ts';
import type { SpentPart } from '../../metering/spending.ts';
import { copyError } from '../copy-error.ts';
import { describeErrors } from '../run/explain-failures.ts';
import type { RunBase } from '../run/run.ts';
import { attemptsOf } from '../run/step.ts';

/**
 * Adds the cost of earlier attempts, and of plugins and server tools, to the reservation.
 *
 * @returns a promise only if the cost is reserved in another process
 * @throws {GatewayError} if the cost exceeds a spending limit, with the failed attempts in its metadata
 */
export function raiseReservation(run: RunBase): MaybePromise<void> {
  const { reservation } = run;
  if (!reservation) return undefined;
  const spent = attemptsOf(run).flatMap(({ endpoint, spent: used }): SpentPart[] =>
    used ? [{ costNanoUsd: totalOf(used.cost), isByok: endpoint.workspace !== undefined }] : [],
  );
  const isRepeated = spent.length > 0;
  if (run.charges) spent.push(...run.charges.map((charge) => ({ costNanoUsd: charge.maxNanoUsd, isByok: false })));
  if (spent.length === 0) return undefined;
  const refuse = (error: unknown): never => {
    const refusal = asGatewayError(error);
    const failed = attemptsOf(run).filter(({ error: failure }) => failure !== undefined);
    if (!isRepeated || failed.length === 0) throw refusal;
    const metadata = { ...refusal.metadata, previous_errors: describeErrors(failed) };
    throw copyError(refusal, refusal.message, { metadata });
  };
  const explain = (cost: string): string =>
    run.charges || run.steps.length > 1
      ? `plugins, tools and earlier model calls of this request cost ${cost}`
      : `failed attempts of this request have cost ${cost}, which leaves too little for another attempt`;
  try {
    const raised = reservation.raise(spent, explain);
    return raised instanceof Promise ? raised.catch(refuse) : undefined;
  } catch (error) {
    return refuse(error);
  }
}
