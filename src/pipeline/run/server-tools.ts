import type { Chunk } from '../../domain/chunks.ts';
import type { EndpointFacts } from '../../domain/endpoint.ts';
import type { HostedTool, InputItem } from '../../domain/items.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { RequestSettings, ResponseRequest } from '../../domain/request.ts';
import type { Reviser } from '../../domain/reviser.ts';
import type { Sink } from '../../domain/sink.ts';
import type { ToolUse } from '../../domain/usage.ts';
import type { Run } from './run.ts';
import type { DeferredTool, ServerTool } from '../../tools/server-tool.ts';
import type { CallingStep, ResponseStep } from './step.ts';

/** A server tool as a request offers it. */
export interface OfferedServerTool {
  readonly tool: ServerTool;
  /** `tools[0]`: its entry in the request. */
  readonly path: string;
  /** The function that the model sees. */
  readonly name: string;
  /** Position among the entries of the tool in the request, from 0. */
  readonly instance: number;
  /** Parts that all entries of the tool share. */
  readonly shared: SharedByEntries;
  /** `tools[].parameters`, checked. */
  readonly parameters: Record<string, unknown>;
  /** The tool of the request that it replaces, if the provider has none. */
  readonly hosted: HostedTool | undefined;
  /** The tools of the request with `defer_loading`. */
  readonly deferred: readonly DeferredTool[];
}

/** Parts that the entries of a tool in a request share. */
export interface SharedByEntries {
  /** Number of entries. */
  entries: number;
  /** Number of calls that have begun. */
  begun: number;
  /** Belongs to the tool. */
  readonly memory: Record<string, unknown>;
}

/** A call of a server tool that has ended, or that did not run. Telemetry reads it. */
export interface ToolCallRecord {
  /** The type of the tool. Undefined: the model named none of the gateway. */
  readonly tool: string | undefined;
  /** The number of its step, or of the next one if it ran before the first. */
  readonly step: number;
  /** performance.now(). */
  readonly startedAt: number;
  readonly endedAt: number;
  /** `ok`, or the class of the failure. */
  readonly outcome: string;
}

/** The input of the next step of a run. */
export interface NextStep {
  /** Results of the calls. They are appended to the input after the output of the step that made the calls. */
  readonly items: readonly InputItem[];
  /** Settings of the request that are different in the next step, such as `tool_choice`. */
  readonly settings?: Partial<RequestSettings>;
}

/** A run after its tools were prepared. */
export interface PreparedTools {
  /** The first step, with the settings of the tools. */
  readonly step: ResponseStep;
  /** Replaces the sink for the output of the run. */
  readonly out: Sink<Chunk>;
  /** Calls that have run, and their results. They are appended to the input. */
  readonly calls: readonly InputItem[];
  readonly results: readonly InputItem[];
}

/**
 * Lists MCP servers, and runs the calls that the caller has approved.
 *
 * @param step the first one, which is planned
 * @param out receives the output of the run
 * @param filter opens a sink that filters what tools return; it ends with `step_end`
 * @throws {GatewayError} `invalid_request` if a server cannot be used
 */
export type PrepareTools = (
  step: ResponseStep,
  out: Sink<Chunk>,
  filter: ((out: Sink<Chunk>) => Sink<Chunk>) | undefined,
) => Promise<PreparedTools>;

/** Runs calls for the MCP servers of a run. */
export interface ApprovedCalls {
  /** Whether no tool of the request may run. */
  readonly isOff: boolean;
  /** Settings of the request with which the model sees the tools. */
  readonly settings: Partial<RequestSettings>;
  /** @returns the results, in the order of the calls */
  run(step: CallingStep, out: Sink<Chunk>): Promise<readonly InputItem[]>;
}

/** The MCP servers of a run. */
export interface McpPart {
  /** Chooses the servers that the gateway calls. @returns whether there are any */
  choose(plan: ResponseStep['plan']): boolean;
  /** Whether the gateway calls the server of this label. */
  calls(label: string): boolean;
  /** Replaces the servers that the gateway calls by functions. */
  show(settings: Partial<RequestSettings>): Partial<RequestSettings>;
  prepare(loop: ApprovedCalls, ...args: Parameters<PrepareTools>): ReturnType<PrepareTools>;
}

/**
 * Opens the MCP servers that the request of a run names.
 *
 * @param clientNames names of the caller's own tools
 * @param offered gets the tools of the servers, by the name that the model sees
 * @returns undefined if it names none
 * @throws {GatewayError} `invalid_request` for an unknown server, or fields that no request may have
 */
export type OpenMcp = (
  run: Run,
  clientNames: ReadonlySet<string>,
  offered: Map<string, OfferedServerTool>,
) => McpPart | undefined;

/** The end of the calls of earlier responses that were suspended. */
export interface Resumption {
  /** Items of the calls that have ended. They are appended to the input. */
  readonly items: readonly InputItem[];
  /** Whether a call waits for the caller again: the response ends, and the model is not called. */
  readonly isWaiting: boolean;
}

/** The server tools that one run offers. */
export interface ToolLoop {
  /** Settings of the request that are different in the first step: the model sees each tool as a function. */
  readonly settings: Partial<RequestSettings>;
  /** Counts of its calls. */
  readonly use: ToolUse;
  /** Its calls so far, up to a limit. */
  readonly calls: readonly ToolCallRecord[];
  /** Cites the pages that the tools have found. */
  readonly reviser: Reviser<unknown>;
  /**
   * Changes the request of an attempt for an endpoint whose provider has some of the tools itself.
   *
   * @throws {GatewayError} `invalid_request` if a tool cannot run at this endpoint
   */
  adapt(request: ResponseRequest, endpoint: EndpointFacts): ResponseRequest;
  /**
   * Whether the tool of the provider replaces a tool of the request at an endpoint.
   *
   * @throws as `adapt`
   */
  isNative(type: string, endpoint: EndpointFacts): boolean;
  /**
   * Checks what only a store knows, before anything is planned. Absent: no tool needs it.
   *
   * @throws {GatewayError} `invalid_request` or `conflict`
   */
  readonly check?: (() => Promise<void>) | undefined;
  /**
   * Decides which tools the gateway runs, once the first step is planned.
   *
   * @returns false if the provider runs all tools of the request
   */
  choose(plan: ResponseStep['plan']): boolean;
  /** Prepares its tools after it has chosen them. Absent: the request names no MCP server. */
  readonly prepare?: PrepareTools | undefined;
  /** Whether the gateway calls the MCP server of this label. */
  callsMcp(label: string): boolean;
  /** Whether the gateway responds to calls of this name. The client then does not see the call itself. */
  owns(name: string, namespace: string | undefined): boolean;
  /** Whether the name is one of its tools. */
  offers(name: string): boolean;
  /**
   * Continues the calls of earlier responses that wait for the caller, before the model is called.
   *
   * @param step the first one, which has not begun
   * @param out receives the items of the calls
   * @returns undefined if there are none
   */
  resume(step: ResponseStep, out: Sink<Chunk>): Promise<Resumption> | undefined;
  /**
   * Runs the calls of a step that has ended.
   *
   * @param out receives items that show the client the work of the tools
   * @returns undefined if no step follows: the response then ends as the step did
   */
  run(step: ResponseStep, out: Sink<Chunk>): MaybePromise<NextStep | undefined>;
}

/** An input in which calls replace items. */
export interface ReplayedInput {
  readonly input: InputItem[];
  /** Paths of the items and fields that the model does not see. */
  readonly dropped: readonly string[];
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
  /**
   * Replaces items of server tools and MCP servers by the calls and results that they show. Called only if there are such
   * items.
   */
  replay(run: Run, input: readonly InputItem[], endpoint: EndpointFacts): ReplayedInput;
}
