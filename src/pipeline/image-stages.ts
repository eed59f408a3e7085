import type { ImageEvent } from '../domain/image-events.ts';
import { type ImageRequest, isImageOutput } from '../domain/images.ts';
import type { LedgerEntry } from '../domain/ledger-entry.ts';
import { ImageDigest } from '../domain/image-digest.ts';
import type { RouterMetadata } from '../domain/router-metadata.ts';
import type { Sink } from '../domain/sink.ts';
import type { Ledger } from '../metering/ledger.ts';
import type { Endpoint } from '../providers/provider-entry.ts';
import type { Health } from '../routing/health.ts';
import type { InFlight } from '../routing/in-flight.ts';
import { type Plan, planImageRoute, type RoutingContext } from '../routing/plan-route.ts';
import { attemptImage, type ImageAttemptParts } from './attempt-image.ts';
import { explainModelDefault } from './explain-model-default.ts';
import { ImageEventStage } from './build-image-events.ts';
import { ByteBudget } from './byte-budget.ts';
import { createImageEntry, createInFlightImageEntry } from './close-image-run.ts';
import { reserveCost, type Reserve } from './reserve-cost.ts';
import { loadReferences, type ReferenceParts } from './load-references.ts';
import type { CheckedImageChunk } from './image-check.ts';
import { type ImageRun, isLogged, type RunOrigin } from './run.ts';
import { startImageRun } from './start-run.ts';
import { type AttemptStrategy, walkPlan } from './walk-plan.ts';

/** The stages of an image generation as functions. */
export interface ImageStages {
  startRun(request: ImageRequest, origin: RunOrigin): ImageRun;
  /** @throws {GatewayError} when there is nowhere to go, or it may not be paid for */
  planRoute(run: ImageRun): Plan<Endpoint> | Promise<Plan<Endpoint>>;
  /** @throws {GatewayError} when one cannot be had, or is no picture that may be sent */
  loadReferences(run: ImageRun): Promise<void>;
  /** Asks endpoints, in the order of the plan, until one has answered in full. @throws {GatewayError} when none did */
  requestEndpoints(run: ImageRun, plan: Plan<Endpoint>, out: Sink<CheckedImageChunk>): Promise<void>;
  buildEvents(run: ImageRun, client: Sink<ImageEvent>): Sink<CheckedImageChunk>;
  /** Settles and books, whatever happened before; once, however often it is called. */
  closeRun(run: ImageRun): void;
}

/** What the composition root hands over. Functions are asked anew for each run, so a reload is seen at once. */
export interface ImageParts {
  routingContext: () => RoutingContext<Endpoint> & { health: Health; inFlight: InFlight };
  maxAttempts: () => number;
  /** Told before each attempt goes out. @throws {GatewayError} when it must not */
  begin?: Ledger['begin'];
  book: Ledger['record'];
  /** Holds back what a run may cost. @throws {GatewayError} when it may not be spent */
  reserve?: Reserve<ImageRun>;
  /** The provider names of a request that mean nobody; undefined: there is none. Asked only where somebody is told. */
  findUnknownProviders?: (run: ImageRun) => readonly string[] | undefined;
  /** Told of every run when it is booked. */
  observe?: (run: ImageRun, entry: LedgerEntry) => void;
  hashEndUser: (workspaceId: string, id: string) => string;
  describeRun: (run: ImageRun) => RouterMetadata | undefined;
  references: Pick<ReferenceParts, 'fetchReference' | 'checkReference'>;
  fetchImage: ImageAttemptParts['fetchImage'];
  checkImage: ImageAttemptParts['checkImage'];
  limits: () => {
    /** Bytes of one whole answer, or of one stream event. */
    answer: number;
    /** Bytes of answers that are held at once, all together. */
    memory: number;
    /** Bytes of a reference. */
    reference: number;
    /** Bytes of all references of a request that are fetched. */
    fetched: number;
  };
}

export function assembleImageStages(parts: ImageParts): ImageStages {
  const budget = new ByteBudget(() => parts.limits().memory);
  const { begin } = parts;
  const work = imageWork({
    fetchImage: parts.fetchImage,
    checkImage: parts.checkImage,
    begin:
      begin &&
      ((run, endpoint) => {
        run.begun = begin(createInFlightImageEntry(run, endpoint), run.begun);
      }),
  });
  function closeRun(run: ImageRun): void {
    if (run.closed) return;
    run.closed = true;
    const entry = createImageEntry(run);
    parts.book(entry, run.begun);
    run.reservation?.settle(entry);
    parts.observe?.(run, entry);
  }

  return {
    startRun: (request, origin) => startImageRun(request, origin, budget.share(), parts.hashEndUser),
    planRoute(run) {
      if (run.metadata) run.unknownProviders = parts.findUnknownProviders?.(run);
      let plan: Plan<Endpoint>;
      try {
        plan = planImageRoute(run.request, run.caller, parts.routingContext(), (refused) => {
          run.plan = refused;
        });
      } catch (error) {
        throw explainModelDefault(error, run);
      }
      return reserveCost(run, plan, parts.reserve);
    },
    async loadReferences(run) {
      const { input_references: urls = [] } = run.request;
      if (urls.length === 0) return;
      const { reference: limitBytes, fetched: fetchedBytes } = parts.limits();
      const limits = { limitBytes, fetchedBytes };
      const images = await loadReferences(urls, { ...parts.references, ...limits }, run.cancellation);
      run.references = isLogged(run) ? images.map((image) => ({ ...image, digest: new ImageDigest(image) })) : images;
    },
    requestEndpoints(run, plan, out) {
      const { health, inFlight } = parts.routingContext();
      const bounds = { limitBytes: parts.limits().answer, maxAttempts: parts.maxAttempts(), health, inFlight };
      return walkPlan(run, plan, work, bounds, out);
    },
    buildEvents: (run, client) => new ImageEventStage(run, { close: closeRun, describeRun: parts.describeRun }, client),
    closeRun,
  };
}

/** How an endpoint is asked for pictures. */
const imageWork = (parts: Omit<ImageAttemptParts, 'memory'>): AttemptStrategy<ImageRun, CheckedImageChunk> => ({
  attempt: (run, endpoint, limitBytes, out) =>
    attemptImage(run, endpoint, limitBytes, { ...parts, memory: run.memory }, out),
  isShown: ({ request }, chunk) => (request.stream === true ? isImageOutput(chunk) : chunk.type === 'finish'),
  isKept: () => false,
  describeOutcome({ dispatchedAt, upstreamEndedAt, finish }, error) {
    const atMs = Date.now();
    if (error || dispatchedAt === undefined) return { atMs, error };
    const durationMs = upstreamEndedAt === undefined ? undefined : upstreamEndedAt - dispatchedAt;
    return { atMs, error, durationMs, outputTokens: finish?.usage?.outputTokens, toolCalls: 'none' };
  },
  resetAttempt(run) {
    run.finish = undefined;
    run.made = [];
  },
});
