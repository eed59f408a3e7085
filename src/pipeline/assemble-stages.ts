import type { Chunk } from '../domain/chunks.ts';
import { GatewayError, type Issue } from '../domain/errors.ts';
import type { ResponseEvent } from '../domain/events.ts';
import type { LedgerEntry } from '../domain/ledger-entry.ts';
import type { ResponseRequest } from '../domain/request.ts';
import type { ResponseObject } from '../domain/response.ts';
import type { Sink } from '../domain/sink.ts';
import { totalOf, writeUsage } from '../metering/cost.ts';
import type { Ledger } from '../metering/ledger.ts';
import type { Endpoint } from '../providers/provider-entry.ts';
import type { Health } from '../routing/health.ts';
import type { InFlight } from '../routing/in-flight.ts';
import { type Plan, planRoute, type RoutingContext } from '../routing/plan-route.ts';
import { deriveSessionKey } from '../routing/sticky.ts';
import { explainModelDefault } from './explain-model-default.ts';
import { type BuilderContext, EventBuilder } from './build-events.ts';
import { settleRun, createLedgerEntry, createInFlightEntry } from './close-run.ts';
import { type Classifier, findTask } from './find-task.ts';
import { reserveCost, type Reserve } from './reserve-cost.ts';
import { type MediaSource, noMediaSource } from './inline-urls.ts';
import { unparkInput } from './park-input.ts';
import { createResponseObject } from './response-object.ts';
import { createResponseStrategy } from './response-strategy.ts';
import { type Reviser, reviseChunks } from './revise.ts';
import { createRouterMetadata } from './router-metadata.ts';
import type { Run } from './run.ts';
import type { Stages } from './stages.ts';
import { startRun } from './start-run.ts';
import { walkPlan } from './walk-plan.ts';

/** What the composition root hands to the pipeline. Functions are asked anew for each run, so a reload is seen at once. */
export interface PipelineParts {
  routingContext: () => RoutingContext<Endpoint> & { health: Health; inFlight: InFlight };
  maxAttempts: () => number;
  /** Undefined: the words of a conversation say what it is about. */
  classifier: () => Classifier | undefined;
  /** Look at the input in order; the first that throws ends the run. */
  inspectors: readonly ((request: ResponseRequest) => void)[];
  /** Each may give a reviser for this run. */
  preparers: readonly ((run: Run) => Reviser | undefined)[];
  /** Told before each attempt goes out. @throws {GatewayError} when it must not */
  begin?: Ledger['begin'];
  book: Ledger['record'];
  /**
   * Holds back what a run may cost; a promise only where it is held elsewhere.
   *
   * @throws {GatewayError} when it may not be spent
   */
  reserve?: Reserve<Run>;
  /** The provider names of a request that mean nobody; undefined: there is none. Asked only where somebody is told. */
  findUnknownProviders?: (run: Run) => readonly string[] | undefined;
  /** Told of every run when it is booked. */
  observe?: (run: Run, entry: LedgerEntry) => void;
  hashEndUser: (workspaceId: string, id: string) => string;
  region: () => string;
  /** The largest whole answer, or single stream event, that is read from a provider, in bytes. */
  upstreamBodyLimit: () => number;
  /** For endpoints that take no addresses. Absent: nothing is fetched. */
  media?: () => MediaSource;
}

export function assembleStages(parts: PipelineParts): Stages {
  const { begin } = parts;
  const work = createResponseStrategy({
    media: parts.media ?? (() => noMediaSource),
    begin:
      begin &&
      ((run, endpoint) => {
        run.begun = begin(createInFlightEntry(run, endpoint), run.begun);
      }),
  });
  function closeRun(run: Run): void {
    if (run.closed) return;
    run.closed = true;
    const entry = createLedgerEntry(run);
    parts.book(entry, run.begun);
    run.reservation?.settle(entry);
    parts.observe?.(run, entry);
    rememberSession(run, parts.routingContext().sticky);
  }
  function plan(run: Run, task: string | undefined): Plan<Endpoint> | Promise<Plan<Endpoint>> {
    if (run.metadata) run.unknownProviders = parts.findUnknownProviders?.(run);
    const hints = task === undefined ? {} : { task };
    let made: Plan<Endpoint>;
    try {
      made = planRoute(run.request, run.caller, parts.routingContext(), hints, (refused) => {
        run.plan = refused;
      });
    } catch (error) {
      throw explainModelDefault(error, run);
    }
    return reserveCost(run, made, parts.reserve);
  }

  const stages: Stages = {
    startRun: (input) => startRun(input, parts.hashEndUser),
    inspectInput(run) {
      try {
        for (const inspect of parts.inspectors) inspect(run.request);
      } catch (error) {
        throw isAboutModel(error) ? explainModelDefault(error, run) : error;
      }
    },
    prepare(run) {
      const { input } = run.request;
      const revisers = parts.preparers.flatMap((prepare) => prepare(run) ?? []);
      if (run.request.input !== input) run.source = undefined;
      return { revisers };
    },
    planRoute(run) {
      const asked = findTask(stages, run, parts.classifier());
      return asked ? asked.then((task) => plan(run, task)) : plan(run, undefined);
    },
    runSteps(run, plan, out) {
      const { health, inFlight } = parts.routingContext();
      return walkPlan(
        run,
        plan,
        work,
        { limitBytes: parts.upstreamBodyLimit(), maxAttempts: parts.maxAttempts(), health, inFlight },
        out,
      );
    },
    revise: (prepared, out) => reviseChunks(prepared.revisers, out),
    buildEvents(run, client) {
      run.builder = new EventBuilder(new RunContext(run, parts.region()), run.request.stream === true);
      return new EventStage(run, run.builder, client, closeRun);
    },
    closeRun,
  };
  return stages;
}

const isAboutModel = (error: unknown): boolean =>
  error instanceof GatewayError && (error.metadata['issues'] as Issue[] | undefined)?.[0]?.path === 'model';

/** What the event builder of a run must know of it: how its response object begins and ends. */
class RunContext implements BuilderContext {
  private readonly run: Run;
  private readonly region: string;

  constructor(run: Run, region: string) {
    this.run = run;
    this.region = region;
  }

  now(): number {
    return Math.floor(Date.now() / 1000);
  }

  base(): ResponseObject {
    const run = this.run;
    const model = run.selected?.model ?? run.plan?.requested ?? run.request.model ?? '';
    return createResponseObject(run.request, run.responseId, Math.floor(run.startedAtMs / 1000), model);
  }

  settle() {
    settleRun(this.run);
    const { usage, cost } = this.run;
    const isUsed = usage && cost && (usage.totalTokens > 0 || totalOf(cost) > 0n);
    return {
      usage: isUsed ? writeUsage(usage, cost, this.run.selected?.workspace !== undefined) : null,
      routerMetadata: createRouterMetadata(this.run, this.region),
    };
  }
}

/** Chunks to events. The run is booked before the client can have all of it. */
class EventStage implements Sink<Chunk> {
  private readonly run: Run;
  private readonly builder: EventBuilder;
  private readonly client: Sink<ResponseEvent>;
  private readonly closeRun: (run: Run) => void;

  constructor(run: Run, builder: EventBuilder, client: Sink<ResponseEvent>, closeRun: (run: Run) => void) {
    this.run = run;
    this.builder = builder;
    this.client = client;
    this.closeRun = closeRun;
  }

  write(chunks: Chunk[]): Promise<void> | undefined {
    const events = this.builder.build(chunks);
    if (this.builder.ended) this.closeRun(this.run);
    return events.length > 0 ? this.client.write(events) : undefined;
  }
}

/**
 * Where a conversation went that succeeded. One that the caller did not name is only remembered when the provider read
 * of its cache: elsewhere there would be nothing to read. @see routing.md section 11
 */
function rememberSession(run: Run, sticky: RoutingContext<Endpoint>['sticky']): void {
  const { plan, selected, error, usage, caller } = run;
  if (!plan?.session || !selected || error) return;
  let { key } = plan.session;
  if (!key?.isExplicit) {
    if ((usage?.cachedTokens ?? 0) === 0 || !isCacheCheaper(selected)) return;
    unparkInput(run);
    key ??= deriveSessionKey(run.request);
  }
  const slug = plan.choiceOf(selected)?.router ?? selected.model;
  if (key) sticky.remember(caller.workspaceId, slug, key, selected.id, selected.model.toLowerCase());
}

const isCacheCheaper = ({ pricing }: Endpoint): boolean =>
  pricing?.cacheReadNanoUsdPerMillion !== undefined &&
  pricing.cacheReadNanoUsdPerMillion < pricing.promptNanoUsdPerMillion;
