import type { Config, ModelConfig, ProviderConfig } from './config/schema.ts';
import type { Pricing } from './domain/endpoint.ts';
import { wires } from './providers/index.ts';
import { createProvider, type Endpoint, type Provider } from './providers/provider-entry.ts';

/** Makes the providers of a configuration and their endpoints, in its order. */
export function buildEndpoints(config: Config): { providers: Provider[]; endpoints: Endpoint[] } {
  const providers: Provider[] = [];
  const endpoints: Endpoint[] = [];
  for (const entry of config.providers) {
    const provider = buildOrExplain(entry, config.timeouts);
    providers.push(provider);
    for (const model of entry.models) endpoints.push(buildEndpoint(provider, model));
  }
  return { providers, endpoints };
}

/** @throws {Error} that names the provider, for the operator */
function buildOrExplain(entry: ProviderConfig, timeouts: Config['timeouts']): Provider {
  try {
    return buildProvider(entry, timeouts);
  } catch (error) {
    throw new Error(`Provider ${entry.id}: ${(error as Error).message}`, { cause: error }); // wires throw Errors
  }
}

function buildProvider(entry: ProviderConfig, timeouts: Config['timeouts']): Provider {
  const wire = wires.get(entry.wire);
  if (!wire) throw new Error(`providers: the wire ${entry.wire} is not part of this build.`);
  return createProvider({
    id: entry.id,
    name: entry.name ?? entry.id,
    wire,
    apiKeys: entry.api_key === undefined ? [] : [entry.api_key].flat(),
    headers: entry.headers ?? {},
    dialect: entry.dialect ?? {},
    timeouts: {
      connectMs: entry.timeouts?.connect_ms ?? timeouts.connect_ms,
      firstByteMs: entry.timeouts?.first_byte_ms ?? timeouts.first_byte_ms,
      idleMs: entry.timeouts?.idle_ms ?? timeouts.idle_ms,
      totalMs: entry.timeouts?.total_ms ?? timeouts.total_ms,
    },
    ...(entry.base_url === undefined ? undefined : { baseUrl: entry.base_url }),
    ...(entry.package === undefined ? undefined : { package: entry.package }),
    ...(entry.factory === undefined ? undefined : { factory: entry.factory }),
    ...(entry.settings === undefined ? undefined : { settings: entry.settings }),
  });
}

function buildEndpoint(provider: Provider, model: ModelConfig): Endpoint {
  const star = model.model.includes('*');
  return {
    provider,
    model: model.model,
    upstreamModel: model.upstream_model ?? (star ? '*' : model.model),
    pricing: readPricing(model.pricing),
    contextLength: model.context_length,
    capabilities: {
      tools: model.capabilities?.tools,
      structuredOutputs: model.capabilities?.structured_outputs,
      reasoning: model.capabilities?.reasoning,
      input: model.capabilities?.input,
      output: model.capabilities?.output,
    },
  };
}

/** USD per token → integer nano-dollars per million tokens: the factor is 10^15. */
function readPricing(pricing: ModelConfig['pricing']): Pricing | undefined {
  if (pricing?.prompt === undefined && pricing?.completion === undefined && pricing?.request === undefined) {
    return undefined;
  }
  const perMillion = (usd: number | string) => Math.round(Number(usd) * 1e15);
  return {
    promptNanoUsdPerMillion: perMillion(pricing.prompt ?? 0),
    completionNanoUsdPerMillion: perMillion(pricing.completion ?? 0),
    ...(pricing.cache_read === undefined ? undefined : { cacheReadNanoUsdPerMillion: perMillion(pricing.cache_read) }),
    ...(pricing.cache_write === undefined
      ? undefined
      : { cacheWriteNanoUsdPerMillion: perMillion(pricing.cache_write) }),
    ...(pricing.request === undefined ? undefined : { requestNanoUsd: Math.round(Number(pricing.request) * 1e9) }),
  };
}
