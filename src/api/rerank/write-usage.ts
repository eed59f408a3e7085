import { totalOf, usdOf } from '../../metering/cost.ts';
import type { RetrievalRun } from '../../pipeline/run/retrieval-run.ts';
import { committedOf } from '../../pipeline/run/step.ts';

/** Writes `usage` of embeddings and of a rerank. `cost` is absent if no price is known: clients of these formats reject null. */
export function writeRetrievalUsage(run: RetrievalRun): Record<string, unknown> {
  const { inputTokens, special } = run.usage!; // the run is recorded
  const cost = run.cost!;
  const searches = special?.webSearches;
  return {
    prompt_tokens: inputTokens,
    total_tokens: inputTokens,
    ...(searches !== undefined && { search_units: searches }),
    ...(special?.inputImageTokens !== undefined && {
      prompt_tokens_details: { image_tokens: special.inputImageTokens },
    }),
    ...(cost.priced && { cost: usdOf(totalOf(cost)) }),
    is_byok: committedOf(run)?.endpoint.workspace !== undefined,
  };
}
