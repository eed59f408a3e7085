import type { ResponseRequest } from '../domain/request.ts';
import { usage } from '../domain/usage.ts';
import { costOf } from '../metering/cost.ts';
import type { Endpoint } from '../providers/provider-entry.ts';
import { Needs } from '../routing/needs.ts';
import type { Plan } from '../routing/plan-route.ts';

/** Where a request does not say how much it wants to hear. */
const USUAL_OUTPUT_TOKENS = 4096;

/**
 * What a request may cost, before it is sent: its text at four characters a token, and as much output as it allows, at the
 * dearest endpoint of its plan.
 *
 * @returns nano-dollars; 0 when no price is known
 */
export function estimateCost(request: ResponseRequest, plan: Plan<Endpoint>): bigint {
  const inputTokens = Math.ceil(new Needs(request).characters / 4);
  let most = 0n;
  for (const endpoint of plan.endpoints) {
    if (plan.choiceOf(endpoint)?.isFree) continue;
    const allowed = request.max_output_tokens ?? USUAL_OUTPUT_TOKENS;
    const outputTokens = Math.min(allowed, endpoint.maxOutputTokens ?? allowed);
    const { inputNanoUsd, outputNanoUsd } = costOf(endpoint.pricing, usage({ inputTokens, outputTokens }));
    const cost = inputNanoUsd + outputNanoUsd;
    if (cost > most) most = cost;
  }
  return most;
}
