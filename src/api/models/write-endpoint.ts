import { type EndpointFacts, type Model, parameterNames } from '../../domain/endpoint.ts';
import type { Health, HealthView } from '../../routing/health.ts';
import { listParameters } from '../../routing/model-rows.ts';
import { filterKnown, writePricing, writeQuantization } from './write-model.ts';

/** Normal, degraded, down. @see docs/reference/models.md#endpoints */
type EndpointStatus = 0 | -1 | -2;

/**
 * An endpoint as `GET /models/{author}/{slug}/endpoints` shows it. An unknown `context_length` is 0, since the
 * interface has no null there. Unknown booleans are false.
 *
 * @see docs/reference/models.md#endpoints
 */
export function writeEndpoint(
  endpoint: EndpointFacts,
  model: Model,
  health: Pick<Health, 'figures' | 'view'>,
): Record<string, unknown> {
  const { provider, tag, pricing } = endpoint;
  const figures = health.figures(endpoint.id);
  const parameters = filterKnown(listParameters(endpoint) ?? [], parameterNames);
  const takesChoice = parameters.includes('tool_choice');
  return {
    name: `${provider.name} | ${model.id}`,
    model_id: model.id,
    model_name: model.name,
    provider_name: provider.name,
    tag,
    context_length: endpoint.contextLength ?? model.contextLength ?? 0,
    max_completion_tokens: endpoint.maxOutputTokens ?? null,
    max_prompt_tokens: endpoint.maxPromptTokens ?? null,
    quantization: writeQuantization(endpoint),
    status: readStatus(health.view(endpoint)),
    supported_parameters: parameters,
    pricing: writePricing(pricing),
    uptime_last_5m: figures.uptime5m,
    uptime_last_30m: figures.uptime30m,
    uptime_last_1d: figures.uptime1d,
    latency_last_30m: figures.latency30m,
    throughput_last_30m: figures.throughput30m,
    supports_implicit_caching: pricing?.cacheReadNanoUsdPerMillion !== undefined,
    supports_tool_choice: {
      auto: takesChoice || parameters.includes('tools'),
      none: takesChoice,
      required: takesChoice,
      function: takesChoice,
    },
  };
}

/**
 * The health that routing uses: an endpoint in an outage is tried last, like one that is down.
 *
 * @see docs/reference/routing.md#health
 */
export function readStatus(view: Pick<HealthView, 'isStable' | 'uptime'> | undefined): EndpointStatus {
  if (!view) return 0; // not used yet
  const { isStable, uptime } = view;
  if (!isStable || (uptime !== null && uptime < 80)) return -2;
  return uptime === null || uptime >= 95 ? 0 : -1;
}
