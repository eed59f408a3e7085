import type { EndpointFacts } from '../domain/endpoint.ts';
import type { Guardrail } from '../domain/guardrail.ts';
import { pricesFor } from '../metering/price.ts';
import { excludeByGuardrails } from './guardrail.ts';
import { type Needs, supports } from './needs.ts';
import type { RoutingCatalog } from './plan-route.ts';
import { matchesEndpoint, type Preferences } from './preferences.ts';

/** Why an endpoint fell out. `code` is one of `excluded_by` of docs/reference/errors.md#errormetadata, or one of ours. */
export interface Exclusion {
  code: string;
  /** A clause: "asks 3 USD per million tokens of input". */
  reason: string;
}

/** What filters look at besides the endpoint. */
export interface RouteCriteria {
  preferences: Preferences;
  needs: Needs;
  workspaceId: string;
  guardrails?: readonly Guardrail[] | undefined;
  catalog: Pick<RoutingCatalog<EndpointFacts>, 'findModel'>;
}

type Filter = (endpoint: EndpointFacts, ask: RouteCriteria) => Exclusion | undefined;

/**
 * The hard filters, in order. Each alone decides, so the order only says which reason is given.
 *
 * @see docs/reference/routing.md#provider-preferences, docs/reference/routing.md#order-of-endpoints
 */
export const filters: readonly Filter[] = [
  function isOthersKey({ workspace }, { workspaceId }) {
    return workspace === undefined || workspace === workspaceId
      ? undefined
      : { code: 'allowed_providers', reason: 'is the own key of another workspace' };
  },
  function isForbidden(endpoint, { guardrails, catalog }) {
    return excludeByGuardrails(endpoint, guardrails, catalog);
  },
  function cannotServe(endpoint, { needs }) {
    return needs.exclude(endpoint);
  },
  function isNotAllowed(endpoint, { preferences: { only } }) {
    if (!only || only.some((entry) => matchesEndpoint(entry, endpoint))) return undefined;
    return { code: 'allowed_providers', reason: 'is not named by `provider.only`' };
  },
  function isIgnored(endpoint, { preferences: { ignore } }) {
    if (!ignore?.some((entry) => matchesEndpoint(entry, endpoint))) return undefined;
    return { code: 'allowed_providers', reason: 'is named by `provider.ignore`' };
  },
  function trains({ trainsOnData }, { preferences: { denyTraining } }) {
    if (!denyTraining || trainsOnData === false) return undefined;
    const reason = trainsOnData ? 'learns from what it is sent' : 'is not known to learn from nothing that it is sent';
    return { code: 'data_policy:training', reason };
  },
  function retains({ retainsData }, { preferences: { zeroRetention } }) {
    if (!zeroRetention || retainsData === false) return undefined;
    const reason = retainsData ? 'keeps what it is sent' : 'is not known to keep nothing that it is sent';
    return { code: 'data_policy:zdr', reason };
  },
  function isNotDistillable({ distillable }, { preferences }) {
    if (!preferences.distillable || distillable === true) return undefined;
    return { code: 'distillation', reason: 'its author is not known to allow distillation' };
  },
  function isOtherQuantization({ quantization = 'unknown' }, { preferences: { quantizations } }) {
    if (!quantizations || quantizations.has(quantization)) return undefined;
    return { code: 'quantization', reason: `has the quantization ${quantization}` };
  },
  excludeByPrice,
  excludeByTier,
  function isTooShort({ contextLength, maxPromptTokens }, { needs }) {
    const limit = Math.min(contextLength ?? Number.POSITIVE_INFINITY, maxPromptTokens ?? Number.POSITIVE_INFINITY);
    if (limit === Number.POSITIVE_INFINITY || needs.leastInputTokens <= limit) return undefined;
    return {
      code: 'context_length',
      reason: `takes ${limit} tokens, and the input has at least ${needs.leastInputTokens}`,
    };
  },
  function saysTooLittle({ maxOutputTokens, contextLength }, { needs }) {
    if (needs.maxOutputTokens === undefined) return undefined;
    const free = contextLength === undefined ? Number.POSITIVE_INFINITY : contextLength - needs.leastInputTokens;
    const limit = Math.min(maxOutputTokens ?? Number.POSITIVE_INFINITY, free);
    if (needs.maxOutputTokens <= limit) return undefined;
    return { code: 'max_output_tokens', reason: `has room for ${limit} tokens of output` };
  },
  function cannotRead({ capabilities: { input } }, { needs }) {
    if (!input || input.length > 4 || needs.modalities.size === 0) return undefined;
    const missing = [...needs.modalities].filter((modality) => !input.includes(modality));
    return missing.length === 0 ? undefined : { code: 'modality', reason: `does not read ${missing.join(' and ')}` };
  },
  function cannotMake({ capabilities: { output } }, { needs }) {
    const missing = output ? needs.output.filter((modality) => !output.includes(modality)) : [];
    return missing.length === 0 ? undefined : { code: 'modality', reason: `does not make ${missing.join(' and ')}` };
  },
  function lacksParameters(endpoint, { preferences, needs }) {
    if (!preferences.requireParameters) return undefined;
    const missing = needs.parameters.filter((parameter) => supports(endpoint, parameter) !== true);
    if (missing.length === 0) return undefined;
    return { code: 'require_parameters', reason: `is not known to take ${missing.join(', ')}` };
  },
];

function excludeByPrice(endpoint: EndpointFacts, { preferences, needs }: RouteCriteria): Exclusion | undefined {
  const { maxPrice } = preferences;
  if (!maxPrice) return undefined;
  const known = endpoint.pricing;
  const pricing = known?.above ? pricesFor(known, needs.leastInputTokens) : known;
  if (!pricing) return { code: 'max_price', reason: 'has no known price' };
  const { prompt, completion, request, image, audio } = maxPrice;
  const { promptNanoUsdPerMillion, completionNanoUsdPerMillion } = pricing;
  if (prompt !== undefined && promptNanoUsdPerMillion > prompt) {
    return { code: 'max_price', reason: `asks ${promptNanoUsdPerMillion / 1e9} USD per million tokens of input` };
  }
  if (completion !== undefined && completionNanoUsdPerMillion > completion) {
    return { code: 'max_price', reason: `asks ${completionNanoUsdPerMillion / 1e9} USD per million tokens of output` };
  }
  if (request !== undefined && (pricing.requestNanoUsd ?? 0) > request) {
    return { code: 'max_price', reason: 'asks more per request' };
  }
  if (image !== undefined && (pricing.imageNanoUsd ?? 0) > image) {
    return { code: 'max_price', reason: 'asks more per image' };
  }
  if (audio !== undefined && (pricing.audioNanoUsdPerMillion ?? 0) > audio) {
    return { code: 'max_price', reason: 'asks more for audio' };
  }
  return undefined;
}

/** Endpoints of a tier take part only when a tier, a suffix, or their own name calls for them. @see docs/reference/routing.md#service-tiers */
function excludeByTier(endpoint: EndpointFacts, { preferences }: RouteCriteria): Exclusion | undefined {
  const { tier } = endpoint;
  if (tier !== 'flex' && tier !== 'priority') return undefined;
  if (preferences.tier === tier || preferences.tiers.has(tier)) return undefined;
  const names = [...(preferences.only ?? []), ...(preferences.order ?? [])];
  if (names.includes(endpoint.tag.toLowerCase())) return undefined;
  return { code: 'tier', reason: `is of the tier ${tier}, which was not asked for` };
}

/** @returns why the endpoint may not serve this request; undefined when it may */
export function findExclusion(endpoint: EndpointFacts, ask: RouteCriteria): Exclusion | undefined {
  for (const filter of filters) {
    const found = filter(endpoint, ask);
    if (found) return found;
  }
  return undefined;
}

/**
 * Keeps the endpoints of a model that take what was sent, if there are any.
 *
 * @see docs/reference/routing.md#exclusions
 */
export function preferCapable<E extends EndpointFacts>(
  endpoints: readonly E[],
  needs: Needs,
  drop: (endpoint: E, exclusion: Exclusion) => void,
): readonly E[] {
  if (endpoints.length < 2) return endpoints;
  let left = endpoints;
  const prefer = (what: string, isCapable: (endpoint: E) => boolean): void => {
    const capable = left.filter(isCapable);
    if (capable.length === 0 || capable.length === left.length) return;
    for (const endpoint of left) {
      if (capable.includes(endpoint)) continue;
      drop(endpoint, { code: 'parameters', reason: `does not take ${what}, and others do` });
    }
    left = capable;
  };
  for (const parameter of needs.softParameters) {
    prefer(parameter, (endpoint) => needs.takes(endpoint, parameter) !== false);
  }
  for (const special of needs.specials) {
    prefer(`the ${special.what} ${special.type}`, ({ carries }) => carries?.(special) !== false);
  }
  return left;
}
