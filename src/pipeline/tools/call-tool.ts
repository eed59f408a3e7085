import { ChildCancellation } from '../../domain/child-cancellation.ts';
import type { CitableSource } from '../../domain/cite-sources.ts';
import { GatewayError } from '../../domain/errors.ts';
import { untilCancelled } from '../../domain/until-cancelled.ts';
import type { ItemFields, Suspension, ToolOutcome } from '../../tools/server-tool.ts';
import type { Run } from '../run/run.ts';
import { createCallContext } from './call-context.ts';
import type { CallPorts, PlannedCall } from './planned-call.ts';
import type { OfferedServerTool } from '../run/server-tools.ts';
import type { ResultRoom } from './run-call.ts';

/** Maximum bytes of a result, and of the fields of an item, as JSON. */
const MAX_RESULT_BYTES = 1024 * 1024;

/** The outcome of a call, with its result as JSON. */
export interface CallOutcome {
  readonly result: string;
  readonly images?: readonly string[];
  readonly item: ItemFields;
  readonly sources?: readonly CitableSource[];
  readonly adjustments?: readonly string[];
  readonly endsResponse?: boolean;
  readonly suspension?: Suspension;
  readonly status: 'completed' | 'failed';
  /** `ok`, or the class of the failure: its kind, `tool_error`, `result_too_large` or `internal`. */
  readonly outcome: string;
}

/**
 * Calls a tool. A failure of the tool is a result for the model.
 *
 * @throws the reason of the cancellation of the run
 */
export async function callTool(run: Run, call: PlannedCall, ports: CallPorts, room: ResultRoom): Promise<CallOutcome> {
  const { offered } = call;
  const { tool, parameters } = offered;
  const { report } = ports;
  const fail = (error: string, outcome: string): CallOutcome => ({
    outcome,
    result: describeFailure(call, error, report),
    item: { ...describeCall(offered, call.input, report), error },
    status: 'failed',
  });
  const message = `The tool did not end within ${tool.timeoutMs} ms.`;
  using cancellation = new ChildCancellation(run.cancellation, tool.timeoutMs, message);
  try {
    const context = createCallContext(run, call, ports, cancellation);
    const executing = call.resumed
      ? tool.resume!(call.input, call.resumed, parameters, context) // only such tools suspend calls
      : tool.execute(call.input, parameters, context);
    const outcome = executing instanceof Promise ? await untilCancelled(executing, cancellation) : executing;
    const written = writeOutcome(outcome, tool.maxItemBytes, room);
    return typeof written === 'string' ? fail(written, 'result_too_large') : written;
  } catch (error) {
    if (run.cancellation.reason) throw run.cancellation.reason;
    if (isForModel(error)) return fail(error.message, error instanceof GatewayError ? error.kind : 'tool_error');
    report(tool.type, error);
    return fail('The tool failed.', 'internal');
  }
}

/** @returns why it is too large, for the model */
function writeOutcome(
  { suspension, ...outcome }: ToolOutcome,
  maxItemBytes: number | undefined,
  room: ResultRoom,
): CallOutcome | string {
  const { result, images = [], item, sources, adjustments, endsResponse } = outcome;
  const text = JSON.stringify(result);
  const fields = item ?? { result: text };
  const sizes = [text, JSON.stringify(suspension ?? {})].map((json) => Buffer.byteLength(json));
  const itemSize = maxItemBytes === undefined ? Buffer.byteLength(JSON.stringify(fields)) : measureLarge(fields);
  const limit = maxItemBytes ?? MAX_RESULT_BYTES;
  if (itemSize > limit || sizes.some((size) => size > MAX_RESULT_BYTES)) {
    return `The result is too large. At most ${limit} bytes are allowed.`;
  }
  const ofItem = maxItemBytes === undefined ? 0 : itemSize;
  const large = images.reduce((sum, image) => sum + image.length, ofItem);
  const total = sizes.reduce((sum, size) => sum + size, itemSize - ofItem);
  if (total > room.left || large > room.largeLeft) {
    return 'The results of this response are too large together. Respond with what you have.';
  }
  const hasFailed = (fields['error'] ?? undefined) !== undefined;
  room.left -= total;
  room.largeLeft -= large;
  return {
    result: text,
    item: fields,
    status: hasFailed ? 'failed' : 'completed',
    outcome: hasFailed ? 'tool_error' : 'ok',
    ...(images.length > 0 && { images }),
    ...(sources && { sources }),
    ...(adjustments && adjustments.length > 0 && { adjustments }),
    ...((endsResponse || suspension) && { endsResponse: true }),
    ...(suspension && { suspension }),
  };
}

/** Measures fields whose long strings need no escapes, such as base64, without another copy of them. */
const measureLarge = (fields: ItemFields): number =>
  Object.entries(fields).reduce((sum, [name, value]) => {
    const bytes = Buffer.byteLength(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
    return sum + name.length + bytes;
  }, 0);

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

/** Writes what the model reads of a failed call. The module of an operator may fail here, too. */
function describeFailure(
  { offered: { tool }, input }: PlannedCall,
  error: string,
  report: CallPorts['report'],
): string {
  try {
    return JSON.stringify(tool.writeFailure(error, input));
  } catch (failure) {
    report(tool.type, failure);
    return writeError(error);
  }
}

/** Whether the model may read the message. A module of the operator can have its own copy of the class. */
const isForModel = (error: unknown): error is Error =>
  error instanceof GatewayError || (error instanceof Error && error.name === 'ToolError');

/** Writes an error as a result. */
export const writeError = (error: string): string => JSON.stringify({ error });
