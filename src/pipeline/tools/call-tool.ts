import { ChildCancellation } from '../../domain/child-cancellation.ts';
import type { Charge, PlannedCharge } from '../../domain/charge.ts';
import type { CitableSource } from '../../domain/cite-sources.ts';
import { currentTimeMs } from '../../domain/clock.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { HostedTool } from '../../domain/items.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { DeferredTool, ItemFields, ServerTool, ToolOutcome } from '../../tools/server-tool.ts';
import type { Run } from '../run/run.ts';
import { untilCancelled } from '../../domain/until-cancelled.ts';

/** A server tool as a request offers it. */
export interface OfferedServerTool {
  readonly tool: ServerTool;
  /** `tools[].parameters`, checked. */
  readonly parameters: Record<string, unknown>;
  /** The tool of the request that it replaces, if the provider has none. */
  readonly hosted: HostedTool | undefined;
  /** What its calls share. */
  readonly memory: Record<string, unknown>;
  /** The tools of the request with `defer_loading`. */
  readonly deferred: readonly DeferredTool[];
  /** Number of its calls that have begun. */
  begun: number;
}

/** What calls need of the gateway. */
export interface CallPorts {
  /** Begins a charge of a run. @throws {GatewayError} if it exceeds a limit */
  charge(run: Run, planned: PlannedCharge): MaybePromise<Charge>;
  /** Called for an unexpected failure of a tool. */
  report(type: string, error: unknown): void;
}

/** Maximum bytes of a result, and of the fields of an item, as JSON. */
const MAX_RESULT_BYTES = 1024 * 1024;

/** Maximum bytes of all results and items of a response. They stay in memory until it ends. */
const MAX_TOTAL_BYTES = 16 * 1024 * 1024;

/** The bytes that the calls of a response may still produce. */
export interface ResultRoom {
  left: number;
}

export const createRoom = (): ResultRoom => ({ left: MAX_TOTAL_BYTES });

/** The outcome of a call, with its result as JSON. */
export interface CallOutcome {
  readonly result: string;
  readonly item: ItemFields;
  readonly sources?: readonly CitableSource[];
}

/**
 * Calls a tool. A failure of the tool is a result for the model.
 *
 * @param input checked arguments
 * @throws the reason of the cancellation of the run
 */
export async function callTool(
  run: Run,
  offered: OfferedServerTool,
  input: Record<string, unknown>,
  { charge, report }: CallPorts,
  room: ResultRoom,
): Promise<CallOutcome> {
  const { tool, parameters } = offered;
  const earlierCalls = offered.begun++;
  const fail = (error: string): CallOutcome => ({
    result: writeError(error),
    item: { ...describeCall(offered, input, report), error },
  });
  const message = `The tool did not end within ${tool.timeoutMs} ms.`;
  using cancellation = new ChildCancellation(run.cancellation, tool.timeoutMs, message);
  try {
    const executing = tool.execute(input, parameters, {
      get signal() {
        return cancellation.signal;
      },
      cancellation,
      caller: run.caller,
      now: currentTimeMs,
      earlierCalls,
      memory: offered.memory,
      deferred: offered.deferred,
      charge: (planned) => charge(run, planned),
      fail(message) {
        throw Object.assign(new Error(message), { name: 'ToolError' });
      },
    });
    const outcome = executing instanceof Promise ? await untilCancelled(executing, cancellation) : executing;
    const written = writeOutcome(outcome, room);
    return typeof written === 'string' ? fail(written) : written;
  } catch (error) {
    if (run.cancellation.reason) throw run.cancellation.reason;
    if (isForModel(error)) return fail(error.message);
    report(tool.type, error);
    return fail('The tool failed.');
  }
}

/** @returns why it is too large, for the model */
function writeOutcome({ result, item, sources }: ToolOutcome, room: ResultRoom): CallOutcome | string {
  const text = JSON.stringify(result);
  const fields = item ?? { result: text };
  const sizes = [text, JSON.stringify(fields)].map((json) => Buffer.byteLength(json));
  if (sizes.some((size) => size > MAX_RESULT_BYTES)) {
    return `The result is too large. At most ${MAX_RESULT_BYTES} bytes are allowed.`;
  }
  const total = sizes.reduce((sum, size) => sum + size);
  if (total > room.left) return 'The results of this response are too large together. Respond with what you have.';
  room.left -= total;
  return { result: text, item: fields, ...(sources && { sources }) };
}

/** Returns the fields of the item before the end of the call. The module of an operator may fail here, too. */
export function describeCall(
  { tool, parameters }: OfferedServerTool,
  input: Record<string, unknown>,
  report: CallPorts['report'],
): ItemFields {
  try {
    return tool.item(input, parameters);
  } catch (error) {
    report(tool.type, error);
    return {};
  }
}

/** Whether the model may read the message. A module of the operator can have its own copy of the class. */
const isForModel = (error: unknown): error is Error =>
  error instanceof GatewayError || (error instanceof Error && error.name === 'ToolError');

/** Writes an error as a result. */
export const writeError = (error: string): string => JSON.stringify({ error });
