import type { Chunk, FinishChunk } from '../../domain/chunks.ts';
import type { Reviser, RevisingSink } from '../../domain/reviser.ts';
import type { Sink } from '../../domain/sink.ts';
import type { TextAttempt } from '../run/attempt.ts';
import type { Run } from '../run/run.ts';
import type { ResponseStep } from '../run/step.ts';
import type { AttemptSink } from '../run/run-kind.ts';
import type { ToolLoop } from '../run/server-tools.ts';
import { StepFilter } from './step-filter.ts';

/** The chain of sinks from one attempt to the events of its run: the revisers in order, then the step filter. */
export class AttemptOutput implements AttemptSink<Chunk> {
  readonly first: Sink<Chunk>;
  private readonly filter: StepFilter;
  private readonly revising: readonly RevisingSink[];

  constructor(
    run: Run,
    step: ResponseStep,
    attempt: TextAttempt,
    { revisers, tools }: { revisers: readonly Reviser<Run>[]; tools: ToolLoop | undefined },
    out: Sink<Chunk>,
  ) {
    const filter = new StepFilter(run, step, attempt, tools, out);
    const revising: RevisingSink[] = [];
    let first: Sink<Chunk> = filter;
    for (let at = revisers.length - 1; at >= 0; at--) {
      const sink: RevisingSink = revisers[at]!.open(run, first);
      revising.push(sink);
      first = sink;
    }
    this.first = first;
    this.filter = filter;
    this.revising = revising;
  }

  get isFinished(): boolean {
    return this.filter.finish !== undefined;
  }

  /** The finish of the attempt. Undefined before its end. */
  get finish(): FinishChunk | undefined {
    return this.filter.finish;
  }

  abandon(): void {
    this.filter.close();
    for (const sink of this.revising) sink.abandon();
  }
}
