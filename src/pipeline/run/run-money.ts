import type { Charge } from '../../domain/charge.ts';
import type { Cost, Usage } from '../../domain/usage.ts';
import type { CostReservation } from '../../metering/spending.ts';

/** What a run may cost, and what it has cost. */
export interface RunMoney {
  /** The reserved cost of the run, until it is closed. */
  reservation: CostReservation | undefined;
  /** Charges of plugins and server tools, in order. Undefined: there are none. */
  charges: Charge[] | undefined;
  /** The sum over the committed attempts and the charges. */
  usage: Usage | undefined;
  /** The sum over all attempts, failed ones included, and the charges. */
  cost: Cost | undefined;
}
