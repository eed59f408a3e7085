import type { InputItem, OutputItem } from '../../domain/items.ts';
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

/** Returns the output of a step in order, including its calls of server tools. */
export function listOutput({ builder }: Run, { firstItem, toolCalls }: ResponseStep): InputItem[] {
  const items = builder?.items ?? [];
  const output: OutputItem[] = [];
  let from = firstItem;
  for (const { item, index } of toolCalls) {
    output.push(...items.slice(from, index), item);
    from = index;
  }
  output.push(...items.slice(from));
  return output as InputItem[]; // callers send output items back unchanged, and so does the gateway
}
