import type { Chunk } from '../../domain/chunks.ts';
import type { InputItem } from '../../domain/items.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { RequestSettings } from '../../domain/request.ts';
import type { Sink } from '../../domain/sink.ts';
import type { TextAttempt } from './attempt.ts';
import type { Run } from './run.ts';
import type { Step } from './step.ts';

/** The input of the next step of a run. */
export interface NextStep {
  /** Results of the calls. They are appended to the input after the output of the step that made the calls. */
  readonly items: readonly InputItem[];
  /** Settings of the request that are different in the next step, such as `tool_choice`. */
  readonly settings?: Partial<RequestSettings>;
}

/** Tools that the gateway runs itself between two steps of a run. */
export interface ServerTools {
  /** Whether the gateway runs a function of this name. The client then does not see the call itself. */
  owns(run: Run, name: string): boolean;
  /**
   * Runs the calls of a step that has ended.
   *
   * @param out receives items that show the client the work of the tools
   * @returns undefined if no step follows: the response then ends as the step did
   */
  run(run: Run, step: Step<TextAttempt>, out: Sink<Chunk>): MaybePromise<NextStep | undefined>;
}
