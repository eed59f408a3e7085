import type { LedgerEntry } from '../domain/ledger-entry.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import type { Ledger } from '../metering/ledger.ts';
import type { Endpoint } from '../providers/provider.ts';
import type { Health } from '../routing/health.ts';
import type { InFlight } from '../routing/in-flight.ts';
import type { Plan, RoutingContext } from '../routing/plan-route.ts';
import type { RetryParts } from './steps/endpoint-queue.ts';
import type { RunBase } from './run/run.ts';

/**
 * The dependencies of every kind of run, from the composition root. Functions are called again for each run, so a reload
 * takes effect at once.
 */
export interface PipelineBase<R extends RunBase> {
  routingContext: () => RoutingContext<Endpoint> & { health: Health; inFlight: InFlight };
  maxAttempts: () => number;
  retry: RetryParts;
  /** Called before each attempt is sent. @throws {GatewayError} if it must not be sent */
  begin?: Ledger['begin'];
  record: Ledger['record'];
  /**
   * Reserves what a run may cost; a promise only if the money is reserved elsewhere.
   *
   * @throws {GatewayError} if it must not be spent
   */
  reserve?: (run: R, plan: Plan<Endpoint>) => MaybePromise<RunBase['reservation']>;
  /** Provider names in the request that match nothing here; undefined: none. Called only if the metadata shows them. */
  findUnknownProviders?: (run: R) => readonly string[] | undefined;
  /** Called with every run when it is recorded. */
  observe?: (run: R, entry: LedgerEntry) => void;
  /** Hashes the id of an end user with a key, so that no provider and no row ever sees the id itself. */
  hashEndUser: (workspaceId: string, id: string) => string;
  region: () => string;
}
