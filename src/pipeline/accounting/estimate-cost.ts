import type { ImageRequest } from '../../domain/images.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import { usage } from '../../domain/usage.ts';
import { costOf, totalOf } from '../../metering/cost.ts';
import { estimateImage, imageLinesOf } from '../../metering/image-cost.ts';
import type { Estimate } from '../../metering/spending.ts';
import type { Endpoint } from '../../providers/provider.ts';
import { contextOf } from '../../routing/filters.ts';
import { ImageNeeds } from '../../routing/image-needs.ts';
import { Needs } from '../../routing/needs.ts';
import type { Plan } from '../../routing/plan-route.ts';
import { USUAL_OUTPUT_TOKENS } from './reserved-tokens.ts';

/**
 * Estimates what a request may cost before it is sent: the estimated tokens of its text, at most the context if the text
 * is shortened to that, as much output as it allows,
 * and one image if the endpoint has a price per image, at the most expensive endpoint of its plan. 0 if no price is
 * known.
 */
export function estimateCost(request: ResponseRequest, plan: Plan<Endpoint>): Estimate {
  const needs = new Needs(request);
  const wholeInput = Math.ceil(needs.inputTokens);
  const inputTokensAt = (endpoint: Endpoint) =>
    needs.shortens(endpoint) ? Math.min(wholeInput, contextOf(endpoint)) : wholeInput;
  const allowed = request.max_output_tokens ?? USUAL_OUTPUT_TOKENS;
  const outputTokensAt = ({ maxOutputTokens }: Endpoint) => Math.min(allowed, maxOutputTokens ?? allowed);
  return estimateDearest(
    plan,
    (endpoint) => {
      const inputTokens = inputTokensAt(endpoint);
      const words = usage({ inputTokens, outputTokens: outputTokensAt(endpoint) });
      return totalOf(costOf(endpoint.pricing, words)) + (endpoint.image ? estimateImage(endpoint, inputTokens) : 0n);
    },
    (endpoint) => {
      const image = imageLinesOf(endpoint) ? ' and an image' : '';
      const inputTokens = inputTokensAt(endpoint);
      const input = `about ${inputTokens} ${inputTokens === 1 ? 'token' : 'tokens'} of input`;
      const output = `${input} and ${outputTokensAt(endpoint)} of output${image}`;
      return request.max_output_tokens == null ? `${output} assumed; set max_output_tokens` : output;
    },
  );
}

/** Estimates what input that was not known before, such as the text of a file, costs at most. */
export const estimateInputCost = (inputTokens: number, plan: Plan<Endpoint>): Estimate =>
  estimateDearest(
    plan,
    ({ pricing }) => totalOf(costOf(pricing, usage({ inputTokens, outputTokens: 0 }))),
    () => `about ${inputTokens} more tokens of input`,
  );

/** Estimates the same of an image generation, for all requested images. */
export function estimateImagesCost(request: ImageRequest, plan: Plan<Endpoint>): Estimate {
  const needs = new ImageNeeds(request);
  const { n = 1 } = request;
  return estimateDearest(
    plan,
    (endpoint) => needs.estimate(endpoint) ?? 0n,
    () => `${n} ${n === 1 ? 'image' : 'images'}`,
  );
}

/** Returns the estimate of the most expensive endpoint of a plan. */
export function estimateDearest(
  plan: Plan<Endpoint>,
  estimate: (endpoint: Endpoint) => bigint,
  describe: (endpoint: Endpoint) => string,
): Estimate {
  const costAt = (endpoint: Endpoint) => (plan.choiceOf(endpoint)?.isFree ? 0n : estimate(endpoint));
  const max: Estimate = {
    nanoUsd: 0n,
    sharedNanoUsd: undefined,
    describe(nanoUsd) {
      const dearest = plan.endpoints.find((endpoint) => costAt(endpoint) === nanoUsd);
      return dearest && describe(dearest);
    },
  };
  for (const endpoint of plan.endpoints) {
    const cost = costAt(endpoint);
    if (cost > max.nanoUsd) max.nanoUsd = cost;
    if (endpoint.workspace === undefined && cost >= (max.sharedNanoUsd ?? 0n)) max.sharedNanoUsd = cost;
  }
  return max;
}
