import { performance } from 'node:perf_hooks'; // the global is a getter
import type { Chunk } from '../../domain/chunks.ts';
import { createId } from '../../domain/ids.ts';
import type { InputItem, ToolOutputPart } from '../../domain/items.ts';
import { parseObject } from '../../domain/parse-object.ts';
import type { Sink } from '../../domain/sink.ts';
import type { CallingStep, ToolCall } from '../run/step.ts';
import { type CallOutcome, describeCall, writeError } from './call-tool.ts';
import { announceCall, type CallParts, type RunningCall, runCall, stopRun } from './run-call.ts';

/** Calls of one turn that run at the same time. */
const PARALLEL = 8;

/** The result of a call beyond the limit. */
export const overLimit = writeError('Tool call limit reached. Respond with the results so far.');

/** The end of the calls of a step. */
export interface CallResults {
  /** In the order of the calls. */
  readonly items: InputItem[];
  /** Whether the caller must act now: no other step follows. */
  readonly endsResponse: boolean;
}

/** A call that does not run. */
interface RejectedCall {
  /** The error for the model. */
  readonly result: string;
  /** The type of its tool. Undefined: there is none of that name. */
  readonly tool: string | undefined;
  readonly outcome: 'over_limit' | 'unknown_tool' | 'invalid_arguments';
}

/** The calls of one step. */
interface StepCalls extends CallParts {
  readonly step: CallingStep;
  /** Number of calls that may run. The others get an error. */
  readonly left: number;
}

/**
 * Runs the calls of a step. The client sees an item for each call that runs, first in progress and then finished.
 *
 * @throws the reason of the cancellation
 */
export async function runCalls(parts: StepCalls, out: Sink<Chunk>): Promise<CallResults> {
  const { step } = parts;
  const planned = step.toolCalls.map((call, index) => prepare(parts, call, index));
  const running = planned.filter((each) => 'key' in each);
  const startedAt = performance.now();
  for (const each of planned) {
    if (!('key' in each)) parts.record({ tool: each.tool, outcome: each.outcome, startedAt, endedAt: startedAt });
  }
  const announced = running.flatMap((each): Chunk[] =>
    announceCall(each, describeCall(each.offered, each.input, parts.ports.report)),
  );
  if (announced.length > 0) await out.write(announced);

  const results = await runAll(parts, running, out);
  const items = planned.map((each, index): InputItem => {
    const isRun = 'key' in each;
    const { result, images = [] }: Pick<CallOutcome, 'result' | 'images'> = isRun ? results.get(each)! : each; // every call has ended
    const output = isRun && each.takesImages && images.length > 0 ? writeParts(result, images) : result;
    return { type: 'function_call_output', call_id: step.toolCalls[index]!.callId, output };
  });
  return { items, endsResponse: [...results.values()].some(({ endsResponse }) => endsResponse) };
}

const writeParts = (result: string, images: readonly string[]): ToolOutputPart[] => [
  { type: 'input_text', text: result },
  ...images.map((url): ToolOutputPart => ({ type: 'input_image', image_url: url })),
];

/** Runs calls, several at the same time. */
export async function runAll(
  parts: CallParts,
  running: readonly RunningCall[],
  out: Sink<Chunk>,
): Promise<ReadonlyMap<RunningCall, CallOutcome>> {
  const results = new Map<RunningCall, CallOutcome>();
  const queue = running.values();
  const work = async (): Promise<void> => {
    for (const each of queue) results.set(each, await runCall(parts, each, out));
  };
  const working = Promise.all(Array.from({ length: Math.min(PARALLEL, running.length) }, work));
  await working.catch((error) => stopRun(parts.run, error)); // the other calls stop, too
  return results;
}

/** @param index of the call in its step */
function prepare({ offered, step, left }: StepCalls, call: ToolCall, index: number): RunningCall | RejectedCall {
  const found = offered.get(call.name);
  const tool = found?.tool.type;
  if (index >= left) return { tool, outcome: 'over_limit', result: overLimit };
  if (!found) {
    const names = [...offered.keys()].join(', ');
    const error = `There is no tool named ${call.name.slice(0, 100)}. The gateway runs ${names}.`;
    return { tool, outcome: 'unknown_tool', result: writeError(error) };
  }
  const reject = (error: string): RejectedCall => ({ tool, outcome: 'invalid_arguments', result: writeError(error) });
  const input = call.arguments.trim() === '' ? {} : parseObject(call.arguments);
  if (!input) return reject('The arguments are not a JSON object.');
  const problem = found.tool.checkArguments(input);
  if (problem !== undefined) return reject(`The arguments are invalid: ${problem}`);
  const { endpoint } = step.committed!; // a step with calls has ended
  return {
    call,
    offered: found,
    input,
    key: `tool/${step.number}/${index}`,
    id: createItemId(found),
    outputId: createOutputId(found),
    model: endpoint.model,
    takesImages: endpoint.capabilities.input?.includes('image') === true,
  };
}

const createItemId = ({ tool, hosted }: RunningCall['offered']): string =>
  createId((hosted && tool.hosted?.itemPrefix) ?? tool.itemPrefix);

const createOutputId = ({ tool, hosted }: RunningCall['offered']): string | undefined => {
  const output = hosted && tool.hosted?.output;
  return output && createId(output.itemPrefix);
};
