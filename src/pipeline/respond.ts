import { ChildCancellation } from '../domain/child-cancellation.ts';
import type { ResponseEvent } from '../domain/events.ts';
import type { ResponseRequest } from '../domain/request.ts';
import type { Sink } from '../domain/sink.ts';
import { addCost } from '../metering/cost.ts';
import { estimateResponseTokens } from './accounting/reserved-tokens.ts';
import { addInnerUsage } from './accounting/sum-inner-runs.ts';
import { createResponse } from './create-response.ts';
import { createRun } from './run/create-run.ts';
import { createInnerOrigin } from './run/inner-origin.ts';
import type { ResponsePipeline } from './response-pipeline.ts';
import { isOverLimit, type Run, type RunBase } from './run/run.ts';

/** A request that the gateway itself makes to serve a caller's request. */
export interface InnerRequest {
  request: ResponseRequest;
  timeoutMs: number;
  /** The run that it serves. Its caller is charged. */
  parent: RunBase;
  /** Cancels it. Absent: the cancellation of the parent. */
  cancellation?: RunBase['cancellation'];
  /** The server tool that sends it, if the tool must not be available in it. */
  servedTool?: string | undefined;
  /** Whether its input can contain texts that guardrails have not inspected, such as those that a model has written. */
  isNew?: boolean;
  /** Whether the response of the parent adds its tokens. Its cost is always added. */
  addsUsage?: boolean;
}

/**
 * Serves an inner request on the same path as a caller's request. It is planned for the same caller and admitted by the
 * limits of its models. It has its own reservation, and its own ledger entry, which names the parent. It ends when the
 * parent is cancelled. The response of the parent adds its cost, and its usage if `addsUsage` is set.
 *
 * @param sink receives batches of events, the last of them terminal
 * @throws {GatewayError} for a failure before the first event; `request_timeout` after `timeoutMs`
 */
export async function respond(
  pipeline: ResponsePipeline,
  {
    request,
    timeoutMs,
    parent,
    servedTool,
    cancellation: outer = parent.cancellation,
    isNew = false,
    addsUsage = false,
  }: InnerRequest,
  sink: Sink<ResponseEvent>,
): Promise<void> {
  const message = `No response came within ${timeoutMs} ms.`;
  using cancellation = new ChildCancellation(outer, timeoutMs, message);
  const origin = createInnerOrigin(parent, cancellation, {
    isInspected: !isNew,
    estimateTokens: () => estimateResponseTokens(request),
  });
  const { generationId, modelLimits } = origin;
  const run = createRun(pipeline, {
    ...origin,
    request,
    servedTools: servedTool === undefined ? parent.servedTools : [...(parent.servedTools ?? []), servedTool],
  });
  try {
    await createResponse(pipeline, run, sink);
  } finally {
    modelLimits?.end(run.recordedTokens ?? 0, isOverLimit(run));
    const usage = addsUsage ? addInnerUsage(run.usage!, run.innerRuns) : undefined;
    parent.innerRuns.push({ generationId, cost: sumInnerCosts(run), usage });
  }
}

/** Returns the cost of an ended run, including its inner runs. */
const sumInnerCosts = ({ cost, innerRuns }: Run) => innerRuns.reduce((sum, inner) => addCost(sum, inner.cost), cost!);
