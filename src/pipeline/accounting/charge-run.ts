import { Charge, type PlannedCharge } from '../../domain/charge.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { PipelineBase } from '../pipeline.ts';
import type { RunBase } from '../run/run.ts';
import { attemptsOf, countBegun, lastBegunOf } from '../run/step.ts';
import { raiseReservation } from './raise-reservation.ts';
import { writeSpentInFlight } from './write-entry.ts';

type Begin = NonNullable<PipelineBase<RunBase>['begin']>;

function writeBetween(begin: Begin, run: RunBase): void {
  const begun = begin(writeSpentInFlight(run), lastBegunOf(run));
  run.begunBetween ??= [];
  run.begunBetween.push({ begun, attemptsBefore: countBegun(run) });
}

/** Writes the usage of a turn that has ended to the journal. Its server tools may run for minutes. */
export function beginTools({ begin }: Pick<PipelineBase<RunBase>, 'begin'>, run: RunBase): void {
  if (!begin) return;
  try {
    writeBetween(begin, run);
  } catch {
    // The line of the attempt stays. If the journal cannot be written, the next attempt fails.
  }
}

/**
 * Begins a charge: reserves its maximum price and writes it to the journal before the work is done. A plugin or a server tool calls it, does the
 * work, and settles the charge. A settled charge stays, even if the run fails afterwards.
 *
 * @returns a promise only if the cost is reserved in another process
 * @throws {GatewayError} if the price exceeds a spending limit; the work must not be done
 * @see docs/guides/money.md#charges-of-plugins-and-tools
 */
export function beginCharge<R extends RunBase>(
  pipeline: Pick<PipelineBase<R>, 'reserve' | 'begin'>,
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
    return raised instanceof Promise ? raised.then(begin).catch(refuse) : begin();
  };
  const begin = (): Charge => {
    if (!pipeline.begin || charge.maxNanoUsd === 0n) return charge; // nothing can be lost
    writeBetween(pipeline.begin, run);
    return charge;
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
