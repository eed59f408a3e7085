import { type Static, type TSchema, Type } from 'typebox';
import { readPlainItem } from '../domain/added-tools.ts';
import type { Caller } from '../domain/caller.ts';
import type { Cancellation } from '../domain/cancellation.ts';
import type { Charge, PlannedCharge } from '../domain/charge.ts';
import type { CitableSource } from '../domain/cite-sources.ts';
import type { EndpointFacts } from '../domain/endpoint.ts';
import type { Issue } from '../domain/errors.ts';
import type { ResponseEvent } from '../domain/events.ts';
import type { EncodedImage, ImageRequest } from '../domain/images.ts';
import {
  type FunctionCallOutputItem,
  type HostedTool,
  type InputItem,
  nameFunction,
  type OutputItem,
  type Tool,
} from '../domain/items.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import type { RequestSettings, ResponseRequest } from '../domain/request.ts';
import type { ResponseObject } from '../domain/response.ts';
import { createLenientCheck } from '../schema/create-lenient-check.ts';
import { explainIssues } from '../schema/explain-issues.ts';
import { Report } from '../schema/report.ts';

/** A tool of the request that the model does not see yet. */
export interface DeferredTool {
  /** As the model sees it. */
  readonly name: string;
  readonly description: string;
  /** Its name and description, and those of its arguments. */
  readonly texts: readonly string[];
  /** Lets the model see it from the next turn on. */
  reveal(): void;
}

/** Context of one call of a tool. */
export interface ToolCallContext {
  /** Aborted when the client disconnects, or when the deadline of the request or of the call passes. */
  readonly signal: AbortSignal;
  /** The same as `signal`, for functions of the gateway. */
  readonly cancellation: Pick<Cancellation, 'reason' | 'deadlineAt' | 'signal' | 'add' | 'remove'>;
  /** The caller of the request. */
  readonly caller: Caller;
  /** Unix milliseconds. */
  now(): number;
  /** Number of calls of this tool, of all its entries, that began before this one in the response. */
  readonly earlierCalls: number;
  /** The same object for all calls of this tool in the response, of all its entries, to keep what they share. */
  readonly memory: Record<string, unknown>;
  /**
   * Reserves the price of work before it is done. Settle the charge afterwards.
   *
   * @throws {GatewayError} if it exceeds a limit; the work must not be done, and the model reads why
   */
  charge(planned: PlannedCharge): MaybePromise<Charge>;
  /** The tools of the request with `defer_loading`. */
  readonly deferred: readonly DeferredTool[];
  /** The settings of the request, as its caller sent them. */
  readonly request: RequestSettings;
  /** Slug of the model that made the call. */
  readonly model: string;
  /** Whether that model is known to take images. */
  readonly takesImages: boolean;
  /** The id that the provider gave the call. */
  readonly callId: string;
  /** Id of the output item of the call. */
  readonly itemId: string;
  /** Position among the entries of this tool in the request, from 0. */
  readonly instance: number;
  /** Whether the request names the tool of a provider, which this one replaces. */
  readonly isHosted: boolean;
  /** Id of the request of the caller, also in a request that a tool sends. */
  readonly requestId: string;
  /** Whether the caller wants to see the output of commands while they run. */
  readonly showsOutput: boolean;
  /** Returns the conversation as the model saw it when it made the call. Do not change the items in place. */
  conversation(): readonly InputItem[];
  /**
   * Sends events to the client while the call runs, such as progress. They get the id and the index of the output item.
   *
   * @returns a promise if the client reads slowly
   */
  emit(events: readonly ToolEvent[]): MaybePromise<void>;
  /**
   * Sends a request of the tool itself on the same path as a request of the caller, who is charged. The outer response
   * adds its usage and cost. It ends when the call is cancelled.
   *
   * @param onEvents receives the events of the response while it arrives
   * @param cancellation cancels it. Create it as a child of `cancellation`. Absent: `cancellation`
   * @throws {GatewayError} if there is no response
   */
  respond(
    request: ResponseRequest,
    onEvents?: (events: readonly ResponseEvent[]) => MaybePromise<void>,
    cancellation?: Cancellation,
  ): Promise<ResponseObject>;
  /**
   * Creates one image on the same path as `POST /images`, for the caller, who is charged. The outer response adds its
   * cost. It ends when the call is cancelled.
   *
   * @param onPartial receives unfinished images, if the request asks for a stream; index from 0
   * @throws {GatewayError} if there is no image
   */
  createImage(
    request: ImageRequest,
    onPartial?: (bytes: Buffer, index: number) => MaybePromise<void>,
  ): Promise<CreatedImage>;
  /** Ends the call. The model reads the message. @throws {ToolError} */
  fail(message: string): never;
}

/** Context in which a tool checks its parameters before anything is sent. */
export type ToolPreparation = Pick<ToolCallContext, 'caller' | 'request' | 'requestId' | 'conversation'>;

/** A call of a function of the caller, which a server tool waits for. */
export interface AwaitedCall {
  readonly name: string;
  readonly namespace?: string;
  /** JSON. */
  readonly arguments: string;
}

/** A call that waits for the caller. */
export interface Suspension {
  /** Functions that the caller runs, at least one. */
  readonly calls: readonly AwaitedCall[];
  /** The caller sends it back for `resume`. The caller may have changed it. */
  readonly transcript: readonly { readonly type: string }[];
}

/** A call that continues in a later request. */
export interface ResumedCall {
  readonly transcript: readonly { readonly type: string }[];
  /** Those of the suspension, in the same order, with their outputs. */
  readonly calls: readonly (AwaitedCall & { readonly output: FunctionCallOutputItem['output'] })[];
}

/** An image that a call has created. */
export interface CreatedImage {
  readonly image: EncodedImage;
  /** Changes of the request to fit the endpoint, in sentences or as names of fields. */
  readonly adjustments: readonly string[];
}

/** An event of the output item of a call. The gateway adds `item_id`, `output_index` and `sequence_number`. */
export interface ToolEvent {
  readonly type: `response.${string}`;
  readonly [field: string]: unknown;
}

/** The fields of an output item, without `type`, `id` and `status`. */
export type ItemFields = Readonly<Record<string, unknown>>;

/** Result of a call. */
export interface ToolOutcome {
  /** The model reads it as JSON. */
  readonly result: Readonly<Record<string, unknown>>;
  /** Data URLs of images that the model sees after the result. Only if the context has `takesImages`. */
  readonly images?: readonly string[];
  /** The client sees them in the finished item. An `error` in them says that the call has failed. Absent: the result as JSON, in `result`. */
  readonly item?: ItemFields;
  /** Pages that the response may cite. A link to one of them becomes an annotation. */
  readonly sources?: readonly CitableSource[];
  /** Settings that were changed or left out, in sentences or as names. The metadata lists them. */
  readonly adjustments?: readonly string[];
  /** Whether the caller must act now: the response ends with this turn, and the model does not see the result. */
  readonly endsResponse?: boolean;
  /** The call waits for functions of the caller: its item stays in progress, and the response ends. Needs `resume`. */
  readonly suspension?: Suspension;
}

/** The tools of providers that do the same as a server tool. */
export interface HostedForm {
  /** Of `tools[].type`. */
  readonly types: ReadonlySet<string>;
  /** Type of the output items if the gateway runs the tool for one of them. */
  readonly itemType: string;
  /** The events of such an item while it runs, and when it is complete: `response.<itemType>.<word>`. */
  readonly progress: {
    readonly started: readonly string[];
    readonly completed: readonly string[];
    readonly failed?: readonly string[];
  };
  /** Returns events of the item that follow those of its start. Absent: none. */
  writeStart?(fields: ItemFields): readonly ToolEvent[];
  /** The item with the result. The item of the call is then complete when the call begins. Absent: there is one item. */
  readonly output?: {
    readonly itemType: string;
    readonly itemPrefix: string;
    /** Returns its fields, also while the call runs. */
    writeFields(fields: ItemFields): ItemFields;
  };
  /** Reads its items in the input, for endpoints whose wire does not have them. Absent: only providers read them. */
  readonly replay?: HostedReplay;
  /** The prefix of the events with the arguments of a call: `<prefix>.delta` and `<prefix>.done`. Absent: none. */
  readonly argumentsEvent?: `response.${string}`;
  /** Fields that its items do not have, although those of other tools do. */
  readonly omits?: ReadonlySet<'status' | 'call_id'>;
  /** Prefix of the ids of its items. Absent: that of the tool. */
  readonly itemPrefix?: string;
  /** Returns the fields of its items. Absent: those of the tool. */
  writeFields?(fields: ItemFields): ItemFields;
  /** @returns undefined if the gateway cannot run it: only the provider can */
  readParameters(tool: HostedTool, caller: Caller): Record<string, unknown> | undefined;
}

/** Reads items of a hosted tool, those of providers and clients included. */
export interface HostedReplay {
  /** The types of items of calls → the type of the items with their results; undefined: the same item. */
  readonly types: ReadonlyMap<string, string | undefined>;
  /**
   * The fields of its items that the call and its result contain, or that no model reads: ids and states. A field of the
   * action is `action.<name>`.
   */
  readonly fields: ReadonlySet<string>;
  /** Whether the gateway has run the call, so that no provider knows the item. */
  isOwn(call: OutputItem): boolean;
  /** @param output the item with the result; undefined: there is none */
  read(call: OutputItem, output: OutputItem | undefined): ReplayedCall | undefined;
  /**
   * Returns the item of the provider for a call, for endpoints where the tool of the provider replaces this one. Absent:
   * all items that the gateway knows are replayed as calls.
   */
  writeNative?(call: OutputItem): InputItem;
}

/** The result of a call whose item has none. */
export const missingResult = { error: 'The call has no result.' };

/** A call that an earlier response contains. */
export interface ReplayedCall {
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly result: Readonly<Record<string, unknown>>;
}

/**
 * The definition of a server tool. Its schemas are JSON Schema. The gateway checks parameters and arguments with them,
 * and shows `arguments` to the model.
 *
 * @see docs/reference/tools.md#server-tools
 */
export interface ToolDefinition<Parameters extends TSchema = TSchema, Arguments extends TSchema = TSchema> {
  /** As in `tools[].type`. The model sees the function `router_web_fetch` for `router:web_fetch`. */
  readonly type: `router:${string}`;
  /** For the model: the purpose of the tool, and when not to use it. */
  readonly description: string;
  /** Of `tools[].parameters`: a closed object. Absent: there are none. */
  readonly parameters?: Parameters;
  /** Schema of the arguments of calls: an object. */
  readonly arguments: Arguments;
  /** Time limit of one call in milliseconds. Default: 60,000. */
  readonly timeoutMs?: number;
  /**
   * Returns problems of parameters beyond their shape, with paths below `parameters`.
   *
   * @param caller undefined if the parameters belong to no request yet
   */
  check?(parameters: Static<Parameters>, caller: Caller | undefined): readonly Issue[];
  /**
   * Returns problems of parameters that only a store knows, with paths below `parameters`. It runs before anything is sent.
   *
   * @throws {GatewayError} if the request must not be served
   */
  prepare?(parameters: Static<Parameters>, context: ToolPreparation): Promise<readonly Issue[]>;
  /** Returns the name of the function that the client runs instead of the tool. Absent or undefined: the gateway runs it. */
  clientName?(parameters: Static<Parameters>): string | undefined;
  /** Returns why arguments are invalid beyond their shape; undefined: they are valid. Invalid calls have no item. */
  checkCall?(input: Static<Arguments>): string | undefined;
  /** Returns the fields of the item while the call runs, and of a failed call. Absent: none. */
  item?(input: Static<Arguments>, parameters: Static<Parameters>): ItemFields;
  /** @throws {ToolError} with a message for the model */
  execute(
    input: Static<Arguments>,
    parameters: Static<Parameters>,
    context: ToolCallContext,
  ): MaybePromise<ToolOutcome>;
  /** Continues a call of an earlier response that was suspended. */
  resume?(
    input: Static<Arguments>,
    resumed: ResumedCall,
    parameters: Static<Parameters>,
    context: ToolCallContext,
  ): MaybePromise<ToolOutcome>;
  /**
   * Returns the call that an item of an earlier response shows. Absent: its arguments and its `result`.
   *
   * @returns undefined if the item does not contain a result
   */
  replay?(item: OutputItem): ReplayedCall | undefined;
  /** Prefix of the ids of its items. Default: `st_`. */
  readonly itemPrefix?: string;
  /**
   * Maximum bytes of the fields of an item. Default: 1 MiB. Items of tools with another maximum have 64 MiB in a response
   * together.
   */
  readonly maxItemBytes?: number;
  /** Whether the tool is available in the requests that it sends itself. Default: yes. */
  readonly isNested?: boolean;
  /** Returns what the model reads of a failed call. Absent: `{error}`. */
  writeFailure?(error: string, input: Static<Arguments>): Readonly<Record<string, unknown>>;
  /**
   * Allows several entries of the tool in a request. The model sees the second one as `<name>__1`. Absent: one entry.
   *
   * @param entries the parameters of all entries, in order, with correct shapes
   * @returns their conflicts, with paths below `entries`, such as `[1].parameters.name`
   */
  checkEntries?(entries: readonly Static<Parameters>[]): readonly Issue[];
  /** Changes what the model sees of an entry. Absent: `description` and `arguments`. */
  show?(parameters: Static<Parameters>): Partial<ShownFunction>;
  /**
   * Returns the tool of the provider that replaces this one at an endpoint. Absent: the gateway always runs it.
   *
   * @param hosted the tool of the request, if it is one of `hosted.types`
   * @returns undefined if the gateway runs it
   * @throws {GatewayError} `invalid_request` if neither can
   */
  native?(parameters: Static<Parameters>, endpoint: EndpointFacts, hosted: HostedTool | undefined): Tool | undefined;
  /** The tools of providers that it replaces where the provider has none. */
  readonly hosted?: HostedForm;
}

/** The function that the model sees for a tool. */
export interface ShownFunction {
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly arguments: Record<string, unknown>;
}

/** A failure of a call. The model reads the message, and the response continues. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}

/** A server tool that the gateway can offer. */
export interface ServerTool {
  readonly type: `router:${string}`;
  /** The function that the model sees. */
  readonly name: string;
  readonly timeoutMs: number;
  readonly maxItemBytes: number | undefined;
  readonly isNested: boolean;
  writeFailure(error: string, input: unknown): Readonly<Record<string, unknown>>;
  show(parameters: unknown): ShownFunction;
  /** Undefined: a request can have one entry. */
  readonly checkEntries: ((entries: readonly unknown[]) => readonly Issue[]) | undefined;
  /** @returns the problems of `tools[].parameters`, with paths below `parameters` */
  checkParameters(parameters: unknown, caller?: Caller): readonly Issue[];
  readonly prepare: ((parameters: unknown, context: ToolPreparation) => Promise<readonly Issue[]>) | undefined;
  clientName(parameters: unknown): string | undefined;
  /** @returns why the arguments are invalid; undefined: they are valid */
  checkArguments(input: unknown): string | undefined;
  item(input: unknown, parameters: unknown): ItemFields;
  execute(input: unknown, parameters: unknown, context: ToolCallContext): MaybePromise<ToolOutcome>;
  readonly resume:
    | ((
        input: unknown,
        resumed: ResumedCall,
        parameters: unknown,
        context: ToolCallContext,
      ) => MaybePromise<ToolOutcome>)
    | undefined;
  replay(item: OutputItem): ReplayedCall | undefined;
  readonly itemPrefix: string;
  readonly native:
    | ((parameters: unknown, endpoint: EndpointFacts, hosted: HostedTool | undefined) => Tool | undefined)
    | undefined;
  readonly hosted: HostedForm | undefined;
}

const DEFAULT_TIMEOUT_MS = 60_000;

/** Defines a server tool. */
export function defineServerTool<const Parameters extends TSchema, const Arguments extends TSchema>(
  definition: ToolDefinition<Parameters, Arguments>,
): ServerTool {
  const { type, description, timeoutMs = DEFAULT_TIMEOUT_MS } = definition;
  const explainParameters = createIssueFinder(definition.parameters ?? nothing, 'parameters');
  const explainArguments = createIssueFinder(definition.arguments, '');
  const shown: ShownFunction = { description, arguments: definition.arguments as Record<string, unknown> }; // JSON Schema
  type Given = [input: Static<Arguments>, parameters: Static<Parameters>]; // the caller has checked both
  return {
    type,
    name: nameFunction(type),
    timeoutMs,
    maxItemBytes: definition.maxItemBytes,
    isNested: definition.isNested ?? true,
    writeFailure: (error, input) => definition.writeFailure?.(error, input as Given[0]) ?? { error },
    show: (parameters) => ({ ...shown, ...definition.show?.(parameters as Given[1]) }),
    checkEntries: definition.checkEntries && ((entries) => definition.checkEntries!(entries as Given[1][])),
    checkParameters(parameters, caller) {
      const issues = explainParameters(parameters);
      return issues.length > 0 ? issues : (definition.check?.(parameters as Given[1], caller) ?? []);
    },
    prepare: definition.prepare && ((parameters, context) => definition.prepare!(parameters as Given[1], context)),
    clientName: (parameters) => definition.clientName?.(parameters as Given[1]),
    checkArguments: (input) => explainArguments(input)[0]?.message ?? definition.checkCall?.(input as Given[0]),
    item: (input, parameters) => definition.item?.(input as Given[0], parameters as Given[1]) ?? {},
    execute: (input, parameters, context) => definition.execute(input as Given[0], parameters as Given[1], context),
    resume:
      definition.resume &&
      ((input, resumed, parameters, context) =>
        definition.resume!(input as Given[0], resumed, parameters as Given[1], context)),
    replay: definition.replay ? (item) => definition.replay!(item) : readPlainItem,
    itemPrefix: definition.itemPrefix ?? 'st_',
    native:
      definition.native &&
      ((parameters, endpoint, hosted) => definition.native!(parameters as Given[1], endpoint, hosted)),
    hosted: definition.hosted,
  };
}

/** Parameters of a tool without any. */
const nothing = Type.Object({}, { additionalProperties: false });

/** Creates a check that removes nulls which stand for absent fields. Models write them for optional arguments. */
function createIssueFinder(schema: TSchema, path: string): (value: unknown) => readonly Issue[] {
  const check = createLenientCheck(schema);
  return (value) => {
    if (check(value)) return [];
    const report = new Report();
    explainIssues(schema, value, path, report);
    if (report.issues.length === 0) report.add(path, 'has a shape that the tool does not know');
    return report.issues;
  };
}
