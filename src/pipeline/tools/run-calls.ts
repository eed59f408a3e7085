import { performance } from 'node:perf_hooks'; // the global is a getter
import type { Chunk } from '../../domain/chunks.ts';
import type { CitableSource } from '../../domain/cite-sources.ts';
import { createId } from '../../domain/ids.ts';
import type { InputItem, OutputItem } from '../../domain/items.ts';
import { parseObject } from '../../domain/parse-object.ts';
import type { Sink } from '../../domain/sink.ts';
import type { ToolUse } from '../../domain/usage.ts';
import type { Run } from '../run/run.ts';
import type { CallingStep, ToolCall } from '../run/step.ts';
import { type CallOutcome, callTool, describeCall, type ResultRoom, writeError } from './call-tool.ts';
import type { CallPorts, OfferedServerTool, PlannedCall } from './planned-call.ts';
import type { ToolStage } from './tool-stage.ts';

export interface CallParts {
  readonly run: Run;
  readonly step: CallingStep;
  /** By the name that the model sees. */
  readonly offered: ReadonlyMap<string, OfferedServerTool>;
  /** Number of calls that may run. The others get an error. */
  readonly left: number;
  readonly use: ToolUse;
  readonly stage: ToolStage;
  readonly ports: CallPorts;
  readonly room: ResultRoom;
  /** Receives the pages that the response may cite. */
  readonly addSources: (sources: readonly CitableSource[]) => void;
}

/** Calls of one turn that run at the same time. */
const PARALLEL = 8;

/** Maximum characters of an error that the metadata shows. */
const MAX_ERROR_CHARACTERS = 300;

/** The result of a call beyond the limit. */
export const overLimit = writeError('Tool call limit reached. Respond with the results so far.');

/** The end of the calls of a step. */
export interface CallResults {
  /** In the order of the calls. */
  readonly items: InputItem[];
  /** Whether the caller must act now: no other step follows. */
  readonly endsResponse: boolean;
}

/** A call that runs. */
interface RunningCall {
  readonly call: ToolCall;
  readonly offered: OfferedServerTool;
  readonly input: Record<string, unknown>;
  readonly key: string;
  readonly id: string;
}

/**
 * Runs the calls of a step. The client sees an item for each call that runs, first in progress and then finished.
 *
 * @throws the reason of the cancellation
 */
export async function runCalls(parts: CallParts, out: Sink<Chunk>): Promise<CallResults> {
  const { step } = parts;
  const planned = step.toolCalls.map((call, index) => (index < parts.left ? prepare(parts, call, index) : overLimit));
  const running = planned.filter((each) => typeof each !== 'string');
  const announced = running.flatMap((each): Chunk[] => {
    const item = writeItem(each, describeCall(each.offered, each.input, parts.ports.report), 'in_progress');
    return [{ type: 'item', key: each.key, item }, ...writeProgress(each, 'started')];
  });
  if (announced.length > 0) await out.write(announced);

  const results = new Map<RunningCall, CallOutcome>();
  const queue = running.values();
  const work = async (): Promise<void> => {
    for (const each of queue) results.set(each, await execute(parts, each, out));
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, running.length) }, work));
  const items = planned.map((each, index): InputItem => {
    const output = typeof each === 'string' ? each : results.get(each)!.result; // every call has ended
    return { type: 'function_call_output', call_id: step.toolCalls[index]!.callId, output };
  });
  return { items, endsResponse: [...results.values()].some(({ endsResponse }) => endsResponse) };
}

/** @returns the error for the model if the call cannot run */
function prepare({ offered, step }: CallParts, call: ToolCall, index: number): RunningCall | string {
  const found = offered.get(call.name);
  if (!found) {
    const names = [...offered.keys()].join(', ');
    return writeError(`There is no tool named ${call.name.slice(0, 100)}. The gateway runs ${names}.`);
  }
  const input = call.arguments.trim() === '' ? {} : parseObject(call.arguments);
  if (!input) return writeError('The arguments are not a JSON object.');
  const problem = found.tool.checkArguments(input);
  if (problem !== undefined) return writeError(`The arguments are invalid: ${problem}`);
  return { call, offered: found, input, key: `tool/${step.number}/${index}`, id: createId(found.tool.itemPrefix) };
}

/**
 * Runs one call to its end.
 *
 * @throws the reason of the cancellation of the run
 */
async function execute(parts: CallParts, each: RunningCall, out: Sink<Chunk>): Promise<CallOutcome> {
  const { run, step, stage, use, ports, room } = parts;
  const startedAt = performance.now();
  const { call, key, id, offered, input } = each;
  const planned: PlannedCall = {
    ...{ offered, input, callId: call.callId, itemId: id },
    model: step.committed!.endpoint.model, // a step with calls has ended
    emit: (events) => out.write(events.map(({ type, ...fields }) => writeEvent(key, type, fields))),
  };
  const outcome = await callTool(run, planned, ports, room);
  const { item, sources, status } = outcome;
  if (sources) parts.addSources(sources);
  use.executed++;
  stage.addCall(offered.tool.type, performance.now() - startedAt, readError(item)?.slice(0, MAX_ERROR_CHARACTERS));
  const done: Chunk = { type: 'item_done', key, item: writeItem(each, item, status) };
  await out.write([...writeProgress(each, status), done]);
  if (run.cancellation.reason) throw run.cancellation.reason;
  return outcome;
}

/** Returns the error of an item for the metadata. A message of a server stays in the item, where filters see it. */
function readError({ error }: CallOutcome['item']): string | undefined {
  if (typeof error !== 'object' || error === null) return typeof error === 'string' ? error : undefined;
  const { type, code } = error as { type?: unknown; code?: unknown };
  return code === undefined ? String(type) : `${type} ${code}`;
}

/** Writes the item. The call id and the arguments let a later request repeat the call exactly. */
function writeItem({ call, offered, id }: RunningCall, fields: object, status: string): OutputItem {
  const type = offered.hosted ? offered.tool.hosted!.itemType : offered.tool.type; // a hosted tool was read by it
  if (offered.hosted && offered.tool.hosted!.isPlain) {
    return { id, type, ...fields, arguments: call.arguments || '{}' };
  }
  const own = { id, type, status };
  const instance = offered.shared.entries > 1 ? { instance_name: offered.name } : undefined;
  // first and last: the fields of a tool come after them, and cannot replace them
  return { ...own, ...fields, ...own, ...instance, call_id: call.callId, arguments: call.arguments };
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

/** Writes an event of an item. The event builder fills in the id. */
const writeEvent = (key: string, type: string, fields: object = {}): Chunk => ({
  type: 'relay',
  key,
  event: { type, item_id: '', output_index: 0, ...fields },
});
