import type { Chunk } from '../../domain/chunks.ts';
import { estimateTokens } from '../../domain/estimate-tokens.ts';
import type { InputItem, OutputItem } from '../../domain/items.ts';
import type { Reviser } from '../../domain/reviser.ts';
import type { Sink } from '../../domain/sink.ts';
import { Needs } from '../../routing/needs.ts';
import type { TextAttempt } from '../run/attempt.ts';
import type { ResponsePipeline } from '../response-pipeline.ts';
import { inspectAdded } from '../run/inspect-input.ts';
import type { Run } from '../run/run.ts';
import { createStep, type ResponseStep } from '../run/step.ts';
import type { NextStep } from '../run/server-tools.ts';

/**
 * Adds the next step, whose input also has the output of the previous step and the results of its tools. It uses the
 * endpoint of the previous step. The others of that plan are fallbacks.
 *
 * @param output of the previous step
 * @throws {GatewayError} if an inspector blocks a result, or the cost of the longer input exceeds a spending limit
 */
export async function addStep(
  { inspectors, reserveInput }: Pick<ResponsePipeline, 'inspectors' | 'reserveInput'>,
  run: Run,
  { number, plan, committed }: ResponseStep,
  output: readonly InputItem[],
  { items, settings }: NextStep,
): Promise<ResponseStep> {
  const added = [...output, ...(await inspectAdded(run, inspectors, items))];
  run.input.append(added);
  if (run.reservation) await reserveInput?.(run, Math.ceil(new Needs({ input: added }).inputTokens));
  const { endpoint } = committed!; // a step that has ended has an attempt
  const endpoints = [endpoint, ...plan.endpoints.filter((other) => other !== endpoint)];
  const firstItem = run.builder?.items.length ?? 0;
  const next = createStep<TextAttempt>({ ...plan, endpoints, stages: [] }, { number: number + 1, firstItem, settings });
  run.steps.push(next);
  return next;
}

/**
 * Prepares the tools of a run whose first step is planned: lists MCP servers, and runs the calls that the caller has
 * approved. Their results are part of the input of the first step.
 *
 * @param guard filters what tools return
 * @returns the first step, and the sink for the output of the run
 * @throws {GatewayError} if a server cannot be used, an inspector blocks a result, or the cost exceeds a spending limit
 */
export async function prepareTools(
  { inspectors, reserveInput }: Pick<ResponsePipeline, 'inspectors' | 'reserveInput'>,
  run: Run,
  step: ResponseStep,
  guard: Reviser<Run> | undefined,
  out: Sink<Chunk>,
): Promise<{ step: ResponseStep; out: Sink<Chunk> }> {
  const prepared = await run.toolLoop!.prepare!(step, out, guard && ((sink) => guard.open(run, sink))); // see the caller
  if (run.cancellation.reason) throw run.cancellation.reason;
  const { calls, results } = prepared;
  const added = calls.length === 0 ? [] : [...calls, ...(await inspectAdded(run, inspectors, results))];
  run.input.append(added);
  if (run.reservation) {
    const tools = prepared.step.settings?.tools ?? [];
    const tokens = estimateTokens([JSON.stringify(tools)]) + new Needs({ input: added }).inputTokens;
    await reserveInput?.(run, Math.ceil(tokens));
  }
  return prepared;
}

/**
 * Continues the calls of earlier responses that wait for the caller.
 *
 * @param step the first one, which has not begun
 * @param guard of the output
 * @returns whether the response has ended, because a call waits for the caller again
 */
export async function resumeSuspended(
  { inspectors, reserveInput }: Pick<ResponsePipeline, 'inspectors' | 'reserveInput'>,
  run: Run,
  step: ResponseStep,
  guard: Reviser<Run> | undefined,
  out: Sink<Chunk>,
): Promise<boolean> {
  const shown = guard ? guard.open(run, out) : out;
  const resumed = await run.toolLoop?.resume(step, shown);
  if (!resumed) return false;
  if (guard) await shown.write([{ type: 'step_end' }]);
  if (run.cancellation.reason) throw run.cancellation.reason;
  if (resumed.isWaiting) {
    await out.write([{ type: 'finish', reason: 'tool_calls' }]);
    return true;
  }
  const items = await inspectAdded(run, inspectors, resumed.items);
  run.input.append(items);
  if (run.reservation) await reserveInput?.(run, Math.ceil(new Needs({ input: items }).inputTokens));
  step.firstItem = run.builder?.items.length ?? 0;
  return false;
}

/** Returns the output of a step in order, including its calls of server tools. */
export function listOutput({ builder }: Run, { firstItem, toolCalls }: ResponseStep): InputItem[] {
  const items = builder?.items ?? [];
  const output: OutputItem[] = [];
  let from = firstItem;
  for (const { item, index } of toolCalls) {
    output.push(...items.slice(from, index), item);
    from = Math.max(from, index);
  }
  output.push(...items.slice(from));
  return output as InputItem[]; // callers send output items back unchanged, and so does the gateway
}
