import { performance } from 'node:perf_hooks'; // the global is a getter
import type { Chunk } from '../../domain/chunks.ts';
import type { CitableSource } from '../../domain/cite-sources.ts';
import { asGatewayError } from '../../domain/errors.ts';
import type { OutputItem } from '../../domain/items.ts';
import type { Sink } from '../../domain/sink.ts';
import type { ToolUse } from '../../domain/usage.ts';
import type { ItemFields, Suspension, ToolEvent } from '../../tools/server-tool.ts';
import type { Run } from '../run/run.ts';
import { type CallOutcome, callTool } from './call-tool.ts';
import type { CallPorts, PlannedCall } from './planned-call.ts';
import type { OfferedServerTool, ToolCallRecord } from '../run/server-tools.ts';
import { writeAwaitedCalls } from './suspended-calls.ts';
import type { ToolStage } from './tool-stage.ts';

/** Maximum bytes of all results and items of a response. They stay in memory until it ends. */
const MAX_TOTAL_BYTES = 16 * 1024 * 1024;

/** The same for items with their own maximum, such as images. */
const MAX_TOTAL_LARGE_BYTES = 64 * 1024 * 1024;

/** The bytes that the calls of a response may still produce. */
export interface ResultRoom {
  left: number;
  /** Bytes left for items with their own maximum. */
  largeLeft: number;
}

export const createRoom = (): ResultRoom => ({ left: MAX_TOTAL_BYTES, largeLeft: MAX_TOTAL_LARGE_BYTES });

export interface CallParts {
  readonly run: Run;
  /** By the name that the model sees. */
  readonly offered: ReadonlyMap<string, OfferedServerTool>;
  readonly use: ToolUse;
  readonly stage: ToolStage;
  /** Receives each call that has ended or did not run. */
  readonly record: (call: Omit<ToolCallRecord, 'step'>) => void;
  readonly ports: CallPorts;
  readonly room: ResultRoom;
  /** Receives the pages that the response may cite. */
  readonly addSources: (sources: readonly CitableSource[]) => void;
}

/** Maximum characters of an error that the metadata shows. */
const MAX_ERROR_CHARACTERS = 300;

/** A call that runs. */
export interface RunningCall extends Pick<PlannedCall, 'model' | 'takesImages' | 'resumed'> {
  readonly call: { readonly callId: string; readonly arguments: string };
  readonly offered: OfferedServerTool;
  readonly input: Record<string, unknown>;
  readonly key: string;
  readonly id: string;
  /** Id of the item with the result, if it is another one. */
  readonly outputId?: string | undefined;
}

/**
 * Runs one call to its end.
 *
 * @throws the reason of the cancellation of the run
 */
export async function runCall(parts: CallParts, each: RunningCall, out: Sink<Chunk>): Promise<CallOutcome> {
  const { run, stage, use, ports, room } = parts;
  const startedAt = performance.now();
  const { call, id, offered, input, model, takesImages, resumed } = each;
  const shown = keyOfResult(each);
  let hasEnded = false; // its item is then complete, and later events of the call are dropped
  const emit: PlannedCall['emit'] = (events) => {
    if (hasEnded || run.cancellation.reason) return undefined;
    const sent = run.hasStandardEvents ? events.filter(isStandard) : events;
    if (sent.length === 0) return undefined;
    try {
      const written = out.write(sent.map((event) => writeToolEvent(shown, event)));
      return written?.catch((error) => stopRun(run, error));
    } catch (error) {
      return stopRun(run, error);
    }
  };
  const planned: PlannedCall = { offered, input, callId: call.callId, itemId: id, model, takesImages, resumed, emit };
  const note = (outcome: string): void =>
    parts.record({ tool: offered.tool.type, startedAt, endedAt: performance.now(), outcome });
  const outcome = await callTool(run, planned, ports, room).catch((reason: unknown) => {
    note('cancelled');
    throw reason;
  });
  hasEnded = true;
  note(outcome.outcome);
  const { item, sources, suspension, adjustments } = outcome;
  const error = readError(item)?.slice(0, MAX_ERROR_CHARACTERS);
  if (sources) parts.addSources(sources);
  if (!suspension) use.executed++;
  stage.addCall(offered.tool.type, performance.now() - startedAt, { error, adjustments });
  await out.write(suspension ? writeSuspended(each, suspension) : writeEnd(each, outcome));
  if (run.cancellation.reason) throw run.cancellation.reason;
  return outcome;
}

/** Items whose events the clients of the format know. Fusion, live output and modules of operators have others. */
const standardEvent = /^response\.(output_text|image_generation_call|web_search_call|code_interpreter_call(_code)?)\./;

/** choice 561 */
const isStandard = ({ type }: ToolEvent): boolean => standardEvent.test(type);

/** Ends the run with everything that works for it, because the client must not get an event of a tool. */
export function stopRun({ cancellation }: Pick<Run, 'cancellation'>, error: unknown): never {
  cancellation.cancel(asGatewayError(error));
  throw error;
}

/** Returns the error of an item for the metadata. A message of a server stays in the item, where filters see it. */
function readError({ error }: CallOutcome['item']): string | undefined {
  if (typeof error !== 'object' || error === null) return typeof error === 'string' ? error : undefined;
  const { type, code } = error as { type?: unknown; code?: unknown };
  return code === undefined ? String(type) : `${type} ${code}`;
}

function writeEnd(each: RunningCall, { item, status }: CallOutcome): Chunk[] {
  if (each.outputId !== undefined) {
    return [{ type: 'item_done', key: keyOfResult(each), item: writeOutput(each, item, status) }];
  }
  const done: Chunk = { type: 'item_done', key: each.key, item: writeItem(each, item, status) };
  return [...writeProgress(each, status), done];
}

/** Writes the functions that the client runs for a suspended call. The item of a resumed call is not repeated. */
function writeSuspended({ call, key, resumed }: RunningCall, suspension: Suspension): Chunk[] {
  const calls = writeAwaitedCalls(key, call.callId, suspension);
  return resumed ? calls : [{ type: 'item_suspended', key }, ...calls];
}

/** Returns the chunks that show the client that a call begins. @param fields of its item */
export function announceCall(each: RunningCall, fields: ItemFields): Chunk[] {
  const { key, call, offered, outputId: id } = each;
  const form = offered.hosted ? offered.tool.hosted : undefined;
  if (!form?.output || id === undefined) {
    const begun: Chunk = { type: 'item', key, item: writeItem(each, fields, 'in_progress') };
    const events = form?.writeStart?.(fields) ?? [];
    return [begun, ...writeProgress(each, 'started'), ...events.map((event) => writeToolEvent(key, event))];
  }
  const { itemType: type, writeFields } = form.output;
  const output = { id, type, status: 'in_progress', call_id: call.callId, ...writeFields(fields) };
  return [
    { type: 'item', key, item: writeItem(each, fields, 'in_progress') },
    { type: 'item_done', key, item: writeItem(each, fields, 'completed') },
    { type: 'item', key: keyOfResult(each), item: output },
  ];
}

/** Returns the key of the item with the result. */
const keyOfResult = ({ key, outputId }: Pick<RunningCall, 'key' | 'outputId'>): string =>
  outputId === undefined ? key : `${key}/output`;

/** Writes the item with the result, which has no status `failed`. */
function writeOutput(each: RunningCall, fields: ItemFields, status: string): OutputItem {
  const { itemType: type, writeFields } = each.offered.tool.hosted!.output!; // the call has an id for it
  const own = { id: each.outputId!, type, status: status === 'failed' ? 'incomplete' : status };
  return { ...own, call_id: each.call.callId, ...writeFields(fields), ...own };
}

/** Writes the item. The call id and the arguments let a later request repeat the call exactly. */
export function writeItem({ call, offered, id }: RunningCall, given: CallOutcome['item'], status: string): OutputItem {
  const form = offered.hosted ? offered.tool.hosted : undefined;
  const type = form ? form.itemType : offered.tool.type;
  const fields = form?.writeFields?.(given) ?? given;
  const omits = form?.omits;
  const own = { id, type, ...(!omits?.has('status') && { status }) };
  const instance = offered.shared.entries > 1 ? { instance_name: offered.name } : undefined;
  // first and last: the fields of a tool come after them, and cannot replace them
  const callId = omits?.has('call_id') ? undefined : { call_id: call.callId };
  return { ...own, ...fields, ...own, ...instance, ...callId, arguments: call.arguments || (omits ? '{}' : '') };
}

/** Writes the events of a hosted tool that the gateway runs. Server tools have none. */
function writeProgress({ call, offered, key }: RunningCall, moment: 'started' | 'completed' | 'failed'): Chunk[] {
  const { hosted } = offered.tool;
  if (!offered.hosted || !hosted) return [];
  const { progress, itemType, argumentsEvent } = hosted;
  const chunks = (progress[moment] ?? []).map((word) => writeEvent(key, `response.${itemType}.${word}`));
  if (moment !== 'started' || !argumentsEvent) return chunks;
  const written = call.arguments || '{}';
  chunks.push(writeEvent(key, `${argumentsEvent}.delta`, { delta: written }));
  chunks.push(writeEvent(key, `${argumentsEvent}.done`, { arguments: written }));
  return chunks;
}

const writeToolEvent = (key: string, { type, ...fields }: ToolEvent): Chunk => writeEvent(key, type, fields);

/** Writes an event of an item. The event builder fills in the id. */
const writeEvent = (key: string, type: string, fields: object = {}): Chunk => ({
  type: 'relay',
  key,
  event: { type, item_id: '', output_index: 0, ...fields },
});
