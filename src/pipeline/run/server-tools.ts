import type { Chunk } from '../../domain/chunks.ts';
import type { EndpointFacts } from '../../domain/endpoint.ts';
import type { InputItem } from '../../domain/items.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { RequestSettings, ResponseRequest } from '../../domain/request.ts';
import type { Reviser } from '../../domain/reviser.ts';
import type { Sink } from '../../domain/sink.ts';
import type { ToolUse } from '../../domain/usage.ts';
import type { Run } from './run.ts';
import type { ResponseStep } from './step.ts';

/** Maximum number of steps of a run, regardless of its tools. */
export const MAX_STEPS = 32;

/** The input of the next step of a run. */
export interface NextStep {
  /** Results of the calls. They are appended to the input after the output of the step that made the calls. */
  readonly items: readonly InputItem[];
  /** Settings of the request that are different in the next step, such as `tool_choice`. */
  readonly settings?: Partial<RequestSettings>;
}

/** The server tools that one run offers. */
export interface ToolLoop {
  /** Settings of the request that are different in the first step: the model sees each tool as a function. */
  readonly settings: Partial<RequestSettings>;
  /** Counts of its calls. */
  readonly use: ToolUse;
  /** Cites the pages that the tools have found. */
  readonly reviser: Reviser<unknown>;
  /**
   * Changes the request of an attempt for an endpoint whose provider has some of the tools itself.
   *
   * @throws {GatewayError} `invalid_request` if a tool cannot run at this endpoint
   */
  adapt(request: ResponseRequest, endpoint: EndpointFacts): ResponseRequest;
  /** Whether the gateway responds to calls of this name. The client then does not see the call itself. */
  owns(name: string, namespace: string | undefined): boolean;
  /** Whether the name is one of its tools. */
  offers(name: string): boolean;
  /**
   * Runs the calls of a step that has ended.
   *
   * @param out receives items that show the client the work of the tools
   * @returns undefined if no step follows: the response then ends as the step did
   */
  run(step: ResponseStep, out: Sink<Chunk>): MaybePromise<NextStep | undefined>;
}

/** Tools that the gateway runs itself between two steps of a run. */
export interface ServerTools {
  /**
   * Opens the tools that the request of a run names.
   *
   * @returns undefined if it names none
   * @throws {GatewayError} `invalid_request` for an unknown tool, wrong parameters, or a name that is used twice
   */
  open(run: Run): ToolLoop | undefined;
  /** Replaces items of server tools by the calls and results that they show. Called only if there are such items. */
  replay(input: readonly InputItem[]): InputItem[];
}
