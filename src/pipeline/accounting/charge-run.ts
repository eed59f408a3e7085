import { Charge, type PlannedCharge, WEB_SEARCH, costOfCharges } from '../../domain/charge.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import { type Cost, type SpecialCounts, usage, type Usage } from '../../domain/usage.ts';
import type { PipelineBase } from '../pipeline.ts';
import type { RunBase } from '../run/run.ts';
import { attemptsOf } from '../run/step.ts';
import { raiseReservation } from '../steps/raise-reservation.ts';

/**
 * Begins a charge: reserves its maximum price before the work is done. A plugin or a server tool calls it, does the
 * work, and settles the charge. A settled charge stays, even if the run fails afterwards.
 *
 * @returns a promise only if the cost is reserved in another process
 * @throws {GatewayError} if the price exceeds a spending limit; the work must not be done
 * @see docs/guides/money.md#charges-of-plugins-and-tools
 */
export function beginCharge<R extends RunBase>(
  pipeline: Pick<PipelineBase<R>, 'reserve'>,
  run: R,
  planned: PlannedCharge,
): MaybePromise<Charge> {
  const sent = attemptsOf(run).filter(({ dispatchedAt }) => dispatchedAt !== undefined);
  const charge = new Charge(planned, sent.length);
  run.charges ??= [];
  run.charges.push(charge);
  const raise = (reservation: RunBase['reservation']): MaybePromise<Charge> => {
    run.reservation ??= reservation;
    const raised = raiseReservation(run);
    return raised instanceof Promise ? raised.then(() => charge, refuse) : charge;
  };
  const refuse = (error: unknown): never => {
    charge.settle(0);
    throw error;
  };
  try {
    const reserved = run.reservation ?? pipeline.reserve?.(run);
    return reserved instanceof Promise ? reserved.then(raise).catch(refuse) : raise(reserved);
  } catch (error) {
    return refuse(error);
  }
}

/** The charges of a run for work that was done. Undefined: none. */
export const chargesOf = ({ charges }: Pick<RunBase, 'charges'>): readonly Charge[] | undefined => {
  const done = charges?.filter(({ count }) => count > 0);
  return done?.length ? done : undefined;
};

/** Returns the total cost of charges. */
export const sumCharges = (charges: readonly Charge[]): Cost =>
  costOfCharges(charges.reduce((sum, { nanoUsd }) => sum + nanoUsd, 0n));

/** Returns the counts of charges that the usage reports. */
export function usageOfCharges(charges: readonly Charge[]): Usage {
  const webSearches = charges.reduce((sum, { name, count }) => (name === WEB_SEARCH ? sum + count : sum), 0);
  const special: SpecialCounts | undefined = webSearches > 0 ? { webSearches } : undefined;
  return usage({ inputTokens: 0, outputTokens: 0, ...(special && { special }) });
}
