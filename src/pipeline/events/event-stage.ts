import { performance } from 'node:perf_hooks'; // the global is a getter
import type { Chunk } from '../../domain/chunks.ts';
import type { ResponseEvent } from '../../domain/events.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { Sink } from '../../domain/sink.ts';
import type { Run } from '../run/run.ts';
import { EventBuilder } from './build-events.ts';
import { RunContext } from './run-context.ts';

/**
 * Opens the stage that turns the chunks of a run into the events of its client.
 *
 * @param limitBytes maximum retained text, as JSON
 * @param close records the run; called before the last event is sent
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

/** Turns chunks into events. The run commits with the first event, and is recorded before the last one is sent. */
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
