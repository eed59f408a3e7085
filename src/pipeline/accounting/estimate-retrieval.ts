import type { EmbeddingRequest } from '../../domain/embeddings.ts';
import type { RerankRequest } from '../../domain/rerank.ts';
import type { Estimate } from '../../metering/spending.ts';
import type { Endpoint } from '../../providers/provider.ts';
import type { Plan } from '../../routing/plan-route.ts';
import { EmbeddingNeeds, RerankNeeds } from '../../routing/retrieval-needs.ts';
import { estimateDearest } from './estimate-cost.ts';

/** Estimates what embeddings may cost before they are sent, at the most expensive endpoint of their plan. */
export function estimateEmbeddingCost(request: EmbeddingRequest, plan: Plan<Endpoint>): Estimate {
  const needs = new EmbeddingNeeds(request);
  const tokens = Math.ceil(needs.inputTokens);
  return estimateDearest(
    plan,
    (endpoint) => needs.estimate(endpoint),
    () => `about ${tokens} ${tokens === 1 ? 'token' : 'tokens'} of input`,
  );
}

/** Estimates the same of a rerank. */
export function estimateRerankCost(request: RerankRequest, plan: Plan<Endpoint>): Estimate {
  const needs = new RerankNeeds(request);
  const { length } = request.documents;
  return estimateDearest(
    plan,
    (endpoint) => needs.estimate(endpoint),
    () => `${length} ${length === 1 ? 'document' : 'documents'}`,
  );
}
