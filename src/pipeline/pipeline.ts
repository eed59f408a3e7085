import type { LedgerEntry } from '../domain/ledger-entry.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import type { Ledger } from '../metering/ledger.ts';
import type { Endpoint } from '../providers/provider.ts';
import type { Health } from '../routing/health.ts';
import type { InFlight } from '../routing/in-flight.ts';
import type { Plan, RoutingContext } from '../routing/plan-route.ts';
import type { ByteBudget } from './byte-budget.ts';
import type { RetryParts } from './endpoint-queue.ts';
import type { ImageCheckParts } from './image-check.ts';
import type { MediaSource } from './inline-urls.ts';
import type { Inspector } from './inspect-input.ts';
import type { ReferenceParts } from './load-references.ts';
import type { Preparer } from './prepare-run.ts';
import type { ImageRun, Run, RunBase } from './run.ts';
import type { ServerTools } from './server-tools.ts';

/**
 * What the composition root hands over for every kind of run. Functions are called again for each run, so a reload takes
 * effect at once.
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

/** What serves responses. */
export interface ResponsePipeline extends PipelineBase<Run> {
  /** Asks a model what a conversation is about. Absent, or undefined: the words say so. @see findTask */
  findTask?: (run: Run) => Promise<string | undefined> | undefined;
  /** Look at the input, in order; the first that blocks it ends the run. */
  inspectors: readonly Inspector[];
  /** Change the request, in order. Each may have a reviser for the output. */
  preparers: readonly Preparer[];
  /** Absent: every call is for the client to run. */
  tools?: ServerTools;
  /** The largest whole response, or single stream event, that is read from a provider, in bytes. */
  upstreamBodyLimit: () => number;
  /** For endpoints that accept no addresses. Absent: nothing is fetched. */
  media?: () => MediaSource;
}

/** What serves image generations. */
export interface ImagePipeline extends PipelineBase<ImageRun> {
  references: Pick<ReferenceParts, 'fetchReference' | 'checkReference'>;
  pictures: Pick<ImageCheckParts, 'fetchImage' | 'checkImage'>;
  limits: () => {
    /** Bytes of one whole response, or of one stream event. */
    answer: number;
    /** Bytes of a reference. */
    reference: number;
    /** Bytes of all references of a request that are fetched. */
    fetched: number;
  };
  /** Memory for responses of all runs together. */
  budget: ByteBudget;
}
