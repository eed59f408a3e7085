import { performance } from 'node:perf_hooks'; // the global is a getter
import type { Chunk } from '../domain/chunks.ts';
import { currentTimeMs } from '../domain/clock.ts';
import type { ResponseEvent } from '../domain/events.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import type { ResponseObject } from '../domain/response.ts';
import type { Sink } from '../domain/sink.ts';
import { totalOf, writeUsage } from '../metering/cost.ts';
import { type BuilderContext, EventBuilder } from './build-events.ts';
import { createResponseObject } from './response-object.ts';
import { createRouterMetadata } from './router-metadata.ts';
import type { Run } from './run.ts';
import { settleRun } from './settle-run.ts';
import { committedOf } from './step.ts';

/**
 * Opens the stage that turns the chunks of a run into the events of its client.
 *
 * @param limitBytes the most text that is kept, as JSON
 * @param close records the run; called before the client can have all of it
 */
export function openEvents(
  run: Run,
  client: Sink<ResponseEvent>,
  { region, limitBytes, close }: { region: string; limitBytes: number; close: (run: Run) => MaybePromise<void> },
): Sink<Chunk> {
  const builder = new EventBuilder(new RunContext(run, region, limitBytes), run.request.stream === true);
  run.builder = builder;
  return new EventStage(run, builder, client, close);
}

/** Chunks to events. The run is committed with the first of them, and recorded before the client can have the last. */
class EventStage implements Sink<Chunk> {
  private readonly run: Run;
  private readonly builder: EventBuilder;
  private readonly client: Sink<ResponseEvent>;
  private readonly close: (run: Run) => MaybePromise<void>;

  constructor(run: Run, builder: EventBuilder, client: Sink<ResponseEvent>, close: (run: Run) => MaybePromise<void>) {
    this.run = run;
    this.builder = builder;
    this.client = client;
    this.close = close;
  }

  write(chunks: Chunk[]): Promise<void> | undefined {
    const events = this.builder.build(chunks);
    if (events.length === 0) return undefined;
    this.run.firstOutputAt ??= performance.now();
    const recorded = this.builder.ended ? this.close(this.run) : undefined;
    return recorded ? recorded.then(() => this.client.write(events)) : this.client.write(events);
  }
}

/** What the event builder of a run must know of it: how its response object begins and ends. */
class RunContext implements BuilderContext {
  readonly limitBytes: number;
  private readonly run: Run;
  private readonly region: string;

  constructor(run: Run, region: string, limitBytes: number) {
    this.run = run;
    this.region = region;
    this.limitBytes = limitBytes;
  }

  now(): number {
    return Math.floor(currentTimeMs() / 1000);
  }

  base(): ResponseObject {
    const run = this.run;
    const step = run.steps.at(-1);
    const model = step?.committed?.endpoint.model ?? step?.plan.requested ?? run.request.model ?? '';
    return createResponseObject(run.request, run.responseId, Math.floor(run.startedAtMs / 1000), model);
  }

  settle() {
    settleRun(this.run);
    const { usage, cost, innerRuns } = this.run;
    const isByok = committedOf(this.run)?.endpoint.workspace !== undefined;
    const inner = innerRuns.map((run) => run.cost);
    const isUsed = usage && cost && (usage.totalTokens > 0 || [cost, ...inner].some((each) => totalOf(each) > 0n));
    return {
      usage: isUsed ? writeUsage(usage, cost, isByok, inner) : null,
      routerMetadata: createRouterMetadata(this.run, this.region),
    };
  }
}
