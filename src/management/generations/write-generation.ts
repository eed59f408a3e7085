import { WEB_SEARCH } from '../../domain/charge.ts';
import { type RecordedEntry, settledCost } from '../../domain/ledger-entry.ts';
import { usdOf } from '../../metering/cost.ts';
import { writeHistoryParts } from './write-attempts.ts';
import { finishReasons } from './read-filters.ts';

/** Fields of the interface that the ledger does not have. */
const absentFields = {
  app_id: null,
  cache_discount: null,
  data_region: 'global',
  http_referer: null,
  moderation_latency: null,
  native_finish_reason: null,
  num_fetches: null,
  num_input_audio_prompt: null,
  num_search_results: null,
  origin: '',
  preset_id: null,
  upstream_id: null,
  user_agent: null,
};

/** `Generation` of the interface. Its cost includes corrections. */
export function writeGeneration(entry: RecordedEntry) {
  const { special = {}, pictures: images } = entry;
  const settled = settledCost(entry);
  const cost = settled === null ? null : usdOf(settled);
  return {
    ...absentFields,
    id: entry.id,
    created_at: new Date(entry.createdAtMs).toISOString(),
    api_type: entry.apiType ?? 'completions', // the interface has no word for responses
    model: entry.model ?? entry.requestedModel,
    provider_name: entry.provider,
    streamed: entry.streamed,
    cancelled: entry.outcome === 'cancelled',
    finish_reason: finishReasons[entry.outcome],
    status: entry.status,
    error_type: entry.errorType,
    tokens_prompt: entry.inputTokens,
    tokens_completion: entry.outputTokens,
    native_tokens_prompt: entry.inputTokens,
    native_tokens_completion: entry.outputTokens,
    native_tokens_cached: entry.cachedTokens,
    native_tokens_reasoning: entry.reasoningTokens,
    native_tokens_completion_images: special.outputImageTokens ?? null,
    num_media_prompt: special.inputImages ?? images?.references ?? null,
    num_media_completion: images?.made ?? null,
    total_cost: cost,
    usage: cost,
    usage_estimated: entry.estimated,
    upstream_inference_cost: writeUpstreamCost(entry, cost),
    is_byok: entry.isByok,
    service_tier: entry.tier,
    router: entry.router,
    latency: entry.firstOutputMs,
    generation_time: entry.durationMs,
    session_id: entry.sessionId,
    external_user: entry.endUser,
    tags: entry.tags ?? {},
    workspace_id: entry.workspaceId,
    web_search_engine:
      entry.lines?.find(({ kind, model }) => kind === 'tool' && model === WEB_SEARCH)?.provider ?? null,
    ...writeHistoryParts(entry),
  };
}

/** The cost that the provider reported; for a BYOK key otherwise the cost by the list of prices. */
function writeUpstreamCost({ upstreamCostNanoUsd, isByok }: RecordedEntry, cost: number | null): number | null {
  if (upstreamCostNanoUsd !== null) return upstreamCostNanoUsd / 1e9;
  return isByok ? cost : null;
}
