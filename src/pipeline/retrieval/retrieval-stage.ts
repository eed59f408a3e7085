import { performance } from 'node:perf_hooks'; // the global is a getter
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { Sink } from '../../domain/sink.ts';
import type { RetrievalFinish, RetrievalRun } from '../run/retrieval-run.ts';
import type { AttemptSink } from '../run/run-kind.ts';

/** Takes the result of the attempt that succeeds. The run is recorded before the client receives it. */
export class RetrievalStage<Q, F extends RetrievalFinish> implements Sink<F>, AttemptSink<F> {
  private readonly run: RetrievalRun<Q, F>;
  private readonly close: () => MaybePromise<void>;

  constructor(run: RetrievalRun<Q, F>, close: () => MaybePromise<void>) {
    this.run = run;
    this.close = close;
  }

  /** Every attempt of the run writes here. */
  get first(): Sink<F> {
    return this;
  }

  get isFinished(): boolean {
    return this.run.result !== undefined;
  }

  /** Does nothing: a failed attempt has written nothing. */
  abandon(): void {}

  write([result]: F[]): Promise<void> | undefined {
    const { run } = this;
    const step = run.steps.at(-1)!; // it is in progress
    step.committed = step.attempts.at(-1);
    run.firstOutputAt = performance.now();
    run.result = result;
    return this.close() ?? undefined;
  }
}
