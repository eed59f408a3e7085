import type { WireImageUsage } from '../../domain/image-events.ts';
import type { Cost, Usage } from '../../domain/usage.ts';
import { usdOf } from '../../metering/cost.ts';

/** `usage` of an image generation. @returns undefined if neither tokens nor a price are known */
export function writeImageUsage(
  usage: Usage | undefined,
  cost: Cost | undefined,
  isByok: boolean,
): WireImageUsage | undefined {
  if (!usage && !cost?.priced) return undefined;
  const images = usage?.special?.inputImageTokens;
  const total = cost?.priced ? usdOf(cost.inputNanoUsd + cost.outputNanoUsd) : null;
  return {
    prompt_tokens: usage?.inputTokens ?? 0,
    completion_tokens: usage?.outputTokens ?? 0,
    total_tokens: usage?.totalTokens ?? 0,
    cost: total,
    ...(cost?.priced && {
      cost_details: {
        upstream_inference_prompt_cost: usdOf(cost.inputNanoUsd),
        upstream_inference_completions_cost: usdOf(cost.outputNanoUsd),
        upstream_inference_cost: total!, // it is priced
      },
    }),
    is_byok: isByok,
    ...(usage && {
      prompt_tokens_details: { cached_tokens: usage.cachedTokens, ...(images && { image_tokens: images }) },
    }),
    ...(usage?.special?.outputImageTokens !== undefined && {
      completion_tokens_details: { image_tokens: usage.special.outputImageTokens },
    }),
  };
}
