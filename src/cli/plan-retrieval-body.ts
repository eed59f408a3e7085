import type { Config } from '../config/schema.ts';
import type { Endpoint } from '../providers/provider.ts';
import { readEmbeddingRequest } from '../requests/embeddings/request.ts';
import { readRerankRequest } from '../requests/rerank/request.ts';
import {
  type Plan,
  planEmbeddingRoute,
  planRerankRoute,
  type RoutingCaller,
  type RoutingContext,
} from '../routing/plan-route.ts';

/** Plans the route of the same request again and again. @throws {GatewayError} if it would be rejected */
export type PlanBody = (onRefused?: (refused: Plan<Endpoint>) => void) => Plan<Endpoint>;

/**
 * Reads the body of `POST /embeddings` or of `POST /rerank`, as the gateway does.
 *
 * @throws {GatewayError} `invalid_request`
 */
export function planRetrievalBody(
  path: 'embeddings' | 'rerank',
  body: unknown,
  { embeddings }: Pick<Config, 'embeddings'>,
  asker: RoutingCaller,
  routingContext: RoutingContext<Endpoint>,
): PlanBody {
  const hints = { maxItems: embeddings.max_inputs, setting: 'embeddings.max_inputs' };
  if (path === 'rerank') {
    const { request } = readRerankRequest(body, hints);
    return (onRefused) => planRerankRoute(request, asker, routingContext, onRefused);
  }
  const { request } = readEmbeddingRequest(body, hints);
  return (onRefused) => planEmbeddingRoute(request, asker, routingContext, onRefused);
}
