import type { LedgerEntry } from '../domain/ledger-entry.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import type { Ledger } from '../metering/ledger.ts';
import type { Endpoint } from '../providers/provider.ts';
import type { Health } from '../routing/health.ts';
import type { InFlight } from '../routing/in-flight.ts';
import type { Plan, RoutingContext } from '../routing/plan-route.ts';
import type { Pseudonyms } from './run/create-run.ts';
import type { RetryParts } from './steps/endpoint-queue.ts';
import type { RunBase } from './run/run.ts';

/**
 * The dependencies of every kind of run, from the composition root. Functions are called again for each run, so a
 * reload takes effect at once.
 */
export interface PipelineBase<R extends RunBase> extends Pseudonyms {
  routingContext: () => RoutingContext<Endpoint> & { health: Health; inFlight: InFlight };
  maxAttempts: () => number;
  retry: RetryParts;
  /** Called before each attempt is sent. @throws {GatewayError} if it must not be sent */
  begin?: Ledger['begin'];
  record: Ledger['record'];
  /** Records a run that a limit rejected before it was sent, or only counts it. Absent: as any other. */
  recordRejected?: (entry: LedgerEntry) => void;
  /**
   * Reserves the maximum cost of a run, or adds it to the reservation that the run has. A promise only if the cost is
   * reserved in another process.
   *
   * @param plan absent: only the charges of the run are reserved so far
   * @throws {GatewayError} if the cost exceeds a spending limit
   */
  reserve?: (run: R, plan?: Plan<Endpoint>) => MaybePromise<RunBase['reservation']>;
  /** Returns the unknown provider names in the request; undefined: none. Called only if the metadata shows them. */
  findUnknownProviders?: (run: R) => readonly string[] | undefined;
  /** Called with every run when it is recorded. */
  observe?: (run: R, entry: LedgerEntry) => void;
  region: () => string;
}
