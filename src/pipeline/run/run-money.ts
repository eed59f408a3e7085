import type { Charge } from '../../domain/charge.ts';
import type { Cost, Usage } from '../../domain/usage.ts';
import type { InFlightRequest } from '../../metering/journal.ts';
import type { CostReservation } from '../../metering/spending.ts';

/** A finished run that served another one. It has its own ledger entry. */
export interface InnerRun {
  readonly generationId: string;
  /** Its cost, including its own inner runs. */
  readonly cost: Cost;
  /** Its usage, including its own inner runs, if the response of the outer run adds it. */
  readonly usage: Usage | undefined;
}

/** A journal line between two attempts: of a charge, or of a turn whose server tools run. */
export interface BegunBetween {
  readonly begun: InFlightRequest;
  /** Number of attempts that had a line before it. */
  readonly attemptsBefore: number;
}

/** The maximum cost of a run, and its cost so far. */
export interface RunMoney {
  /** The reserved cost of the run, until it is closed. */
  reservation: CostReservation | undefined;
  /** Charges of plugins and server tools, in order. Undefined: there are none. */
  charges: Charge[] | undefined;
  /** Runs that have served this one. Only the response adds their cost and usage. */
  readonly innerRuns: InnerRun[];
  /** The journal lines of charges and of turns with server tools, in order. Undefined: there are none. */
  begunBetween: BegunBetween[] | undefined;
  /** The sum over the committed attempts and the charges. */
  usage: Usage | undefined;
  /** The sum over all attempts, failed ones included, and the charges. */
  cost: Cost | undefined;
  /** The tokens of its ledger entry: of all attempts, failed ones included. Undefined until it is closed. */
  recordedTokens?: number | undefined;
}
