import type { FastifyRequest } from 'fastify';
import { GatewayError } from '../../domain/errors.ts';
import type { LedgerEntry } from '../../domain/ledger-entry.ts';
import { usdOf } from '../../metering/cost.ts';

/**
 * `GET /generation?id=`: what one response used and cost, to any key of its workspace.
 *
 * @see platform.md "Generations and activity"
 */
export function createGenerationHandler(find: (workspaceId: string, id: string) => Promise<LedgerEntry | undefined>) {
  return async function findGenerationHandler(request: FastifyRequest): Promise<unknown> {
    const { id } = request.query as { id?: unknown };
    if (typeof id !== 'string' || id === '') {
      throw new GatewayError('invalid_request', 'id: the query names no generation; send ?id=gen-….');
    }
    const entry = await find(request.caller!.workspaceId, id);
    if (!entry) throw new GatewayError('not_found', `There is no generation ${id.slice(0, 100)} in this workspace.`);
    return { data: writeGeneration(entry) };
  };
}

function writeGeneration(entry: LedgerEntry): Record<string, unknown> {
  const cost = usdOf(entry.costNanoUsd);
  return {
    id: entry.id,
    created_at: new Date(entry.createdAtMs).toISOString(),
    api_type: 'responses',
    model: entry.model ?? entry.requestedModel,
    provider_name: entry.provider,
    streamed: entry.streamed,
    cancelled: entry.outcome === 'cancelled',
    finish_reason: entry.outcome === 'completed' ? 'stop' : entry.outcome,
    status: entry.status,
    error_type: entry.errorType,
    tokens_prompt: entry.inputTokens,
    tokens_completion: entry.outputTokens,
    native_tokens_prompt: entry.inputTokens,
    native_tokens_completion: entry.outputTokens,
    native_tokens_cached: entry.cachedTokens,
    native_tokens_reasoning: entry.reasoningTokens,
    total_cost: entry.priced ? cost : null,
    usage: entry.priced ? cost : null,
    usage_estimated: entry.estimated,
    is_byok: false,
    router: entry.router,
    latency: entry.firstOutputMs,
    generation_time: entry.durationMs,
    session_id: entry.sessionId,
    workspace_id: entry.workspaceId,
  };
}
