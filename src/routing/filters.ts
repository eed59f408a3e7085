import type { EndpointFacts } from '../domain/endpoint.ts';
import type { Guardrail } from '../domain/guardrail.ts';
import { pricesFor } from '../metering/price.ts';
import { type Exclusion, UNPRICED } from './exclusion.ts';
import { excludeByGuardrails } from './guardrail.ts';
import { type Needs, supports } from './needs.ts';
import type { RoutingCatalog } from './catalog-view.ts';
import { matchesEndpoint, type Preferences } from './preferences.ts';

/** The input of the filters besides the endpoint. */
export interface RouteCriteria {
  preferences: Preferences;
  needs: Needs;
  workspaceId: string;
  guardrails?: readonly Guardrail[] | undefined;
  catalog: Pick<RoutingCatalog<EndpointFacts>, 'findModel'>;
  /** Absent: `none`. */
  priceRule?: PriceRule | undefined;
  /** Minimum context of endpoints whose input can be shortened. Absent: half of the tokens that the request needs. */
  minContext?: number | undefined;
}

/** The endpoints that need a known price: those with keys of the operator, all, or none. */
export type PriceRule = 'none' | 'shared' | 'all';

type Filter = (endpoint: EndpointFacts, criteria: RouteCriteria) => Exclusion | undefined;

/**
 * The hard filters. They are independent, so their order only determines which reason is reported.
 *
 * @see docs/reference/routing.md#provider-preferences, docs/reference/routing.md#order-of-endpoints
 */
export const filters: readonly Filter[] = [
  function isOthersKey({ workspace }, { workspaceId }) {
    return workspace === undefined || workspace === workspaceId
      ? undefined
      : { code: 'allowed_providers', reason: 'is a BYOK key of another workspace' };
  },
  function isForbidden(endpoint, { guardrails, catalog }) {
    return excludeByGuardrails(endpoint, guardrails, catalog);
  },
  function cannotServe(endpoint, { needs }) {
    return needs.exclude(endpoint);
  },
  function isNotAllowed(endpoint, { preferences: { only } }) {
    if (!only || only.some((entry) => matchesEndpoint(entry, endpoint))) return undefined;
    return { code: 'allowed_providers', reason: 'is not in `provider.only`' };
  },
  function isIgnored(endpoint, { preferences: { ignore } }) {
    if (!ignore?.some((entry) => matchesEndpoint(entry, endpoint))) return undefined;
    return { code: 'allowed_providers', reason: 'is in `provider.ignore`' };
  },
  function trains({ trainsOnData }, { preferences: { denyTraining } }) {
    if (!denyTraining || trainsOnData === false) return undefined;
    const reason = trainsOnData ? 'trains on its inputs' : 'may train on its inputs';
    return { code: 'data_policy:training', reason };
  },
  function retains({ retainsData }, { preferences: { zeroRetention } }) {
    if (!zeroRetention || retainsData === false) return undefined;
    const reason = retainsData ? 'retains its inputs' : 'may retain its inputs';
    return { code: 'data_policy:zdr', reason };
  },
  function isNotDistillable({ distillable }, { preferences }) {
    if (!preferences.distillable || distillable === true) return undefined;
    return { code: 'distillation', reason: 'has an author who may not allow distillation' };
  },
  function isOtherQuantization({ quantization = 'unknown' }, { preferences: { quantizations } }) {
    if (!quantizations || quantizations.has(quantization)) return undefined;
    return { code: 'quantization', reason: `has the quantization ${quantization}` };
  },
  excludeByPrice,
  function hasNoPrice(endpoint, { priceRule = 'none', needs }) {
    if (priceRule === 'none' || (priceRule === 'shared' && endpoint.workspace !== undefined)) return undefined;
    if (needs.isPriced(endpoint)) return undefined;
    return { code: UNPRICED, reason: 'has no known price, which a spending limit needs' };
  },
  excludeByTier,
  function isTooShort(endpoint, { needs, minContext }) {
    const limit = contextOf(endpoint);
    if (limit === Number.POSITIVE_INFINITY) return undefined;
    if (needs.shortens(endpoint)) {
      const required = needs.requiredTokens;
      if (limit >= (minContext ?? required / 2)) return undefined;
      return {
        code: 'context_length',
        reason: `has a context of ${limit} tokens, less than half of the ${required} that the request needs`,
      };
    }
    const input = needs.minInputTokens;
    if (input < limit || (input === limit && needs.maxOutputTokens === undefined)) return undefined;
    return {
      code: 'context_length',
      reason: `has a context of ${limit} tokens, and the input has at least ${input}`,
    };
  },
  function cannotRead({ capabilities: { input } }, { needs }) {
    if (!input || input.length > 4 || needs.modalities.size === 0) return undefined;
    const missing = [...needs.modalities].filter(
      (modality) => !input.includes(modality) && !(modality === 'file' && needs.parsesFiles),
    );
    return missing.length === 0
      ? undefined
      : { code: 'modality', reason: `does not support ${missing.join(' and ')} input` };
  },
  function cannotMake({ capabilities: { output } }, { needs }) {
    const missing = output ? needs.output.filter((modality) => !output.includes(modality)) : [];
    return missing.length === 0
      ? undefined
      : { code: 'modality', reason: `does not generate ${missing.join(' and ')} output` };
  },
  function lacksParameters(endpoint, { preferences, needs }) {
    if (!preferences.requireParameters) return undefined;
    const missing = needs.parameters.filter((parameter) => supports(endpoint, parameter) !== true);
    if (missing.length === 0) return undefined;
    return { code: 'require_parameters', reason: `may not support ${missing.join(', ')}` };
  },
];

/** The most input tokens that an endpoint can hold; infinite if unknown. */
export const contextOf = ({ contextLength, maxPromptTokens }: EndpointFacts): number =>
  Math.min(contextLength ?? Number.POSITIVE_INFINITY, maxPromptTokens ?? Number.POSITIVE_INFINITY);

function excludeByPrice(endpoint: EndpointFacts, { preferences, needs }: RouteCriteria): Exclusion | undefined {
  const { maxPrice } = preferences;
  if (!maxPrice) return undefined;
  const known = endpoint.pricing;
  const pricing = known?.above ? pricesFor(known, needs.minInputTokens) : known;
  if (!pricing) return { code: 'max_price', reason: 'has no known price' };
  const { prompt, completion, request, image, audio } = maxPrice;
  const { promptNanoUsdPerMillion, completionNanoUsdPerMillion } = pricing;
  if (prompt !== undefined && promptNanoUsdPerMillion > prompt) {
    return { code: 'max_price', reason: `costs ${promptNanoUsdPerMillion / 1e9} USD per million input tokens` };
  }
  if (completion !== undefined && completionNanoUsdPerMillion > completion) {
    return { code: 'max_price', reason: `costs ${completionNanoUsdPerMillion / 1e9} USD per million output tokens` };
  }
  if (request !== undefined && (pricing.requestNanoUsd ?? 0) > request) {
    return { code: 'max_price', reason: 'exceeds the price per request' };
  }
  if (image !== undefined && (pricing.imageNanoUsd ?? 0) > image) {
    return { code: 'max_price', reason: 'exceeds the price per image' };
  }
  if (audio !== undefined && (pricing.audioNanoUsdPerMillion ?? 0) > audio) {
    return { code: 'max_price', reason: 'exceeds the price of audio' };
  }
  return undefined;
}

/**
 * Endpoints of a tier need a tier, a suffix or their own name in the request.
 *
 * @see docs/reference/routing.md#service-tiers
 */
function excludeByTier(endpoint: EndpointFacts, { preferences }: RouteCriteria): Exclusion | undefined {
  const { tier } = endpoint;
  if (tier !== 'flex' && tier !== 'priority') return undefined;
  if (preferences.tier === tier || preferences.tiers.has(tier)) return undefined;
  const names = [...(preferences.only ?? []), ...(preferences.order ?? [])];
  if (names.includes(endpoint.tag.toLowerCase())) return undefined;
  return { code: 'tier', reason: `is in the tier ${tier}, which was not requested` };
}

/** @returns why the endpoint cannot serve this request; undefined if it can */
export function findExclusion(endpoint: EndpointFacts, criteria: RouteCriteria): Exclusion | undefined {
  for (const filter of filters) {
    const found = filter(endpoint, criteria);
    if (found) return found;
  }
  return undefined;
}

/**
 * Keeps the endpoints of a model that support the whole request. Keeps all if there are none.
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
      drop(endpoint, { code: 'parameters', reason: `does not support ${what}, unlike others` });
    }
    left = capable;
  };
  for (const parameter of needs.softParameters) {
    prefer(parameter, (endpoint) => needs.takes(endpoint, parameter) !== false);
  }
  for (const special of needs.specials) {
    prefer(`the ${special.what} ${special.type}`, ({ carries }) => carries?.(special) !== false);
  }
  const { maxOutputTokens } = needs;
  if (maxOutputTokens !== undefined) {
    prefer(`${maxOutputTokens} output tokens`, (endpoint) => outputRoomOf(endpoint, needs) >= maxOutputTokens);
  }
  return left;
}

/**
 * Returns how many output tokens an endpoint has room for: its maximum, and what the input leaves of the context. A
 * larger limit of a request is lowered to it, if no other endpoint has the room.
 *
 * @returns infinity if neither is known
 */
export function outputRoomOf(endpoint: EndpointFacts, needs: Pick<Needs, 'shortens' | 'minInputTokens'>): number {
  const { maxOutputTokens = Number.POSITIVE_INFINITY, contextLength } = endpoint;
  if (contextLength === undefined) return maxOutputTokens;
  const input = needs.shortens(endpoint) ? 0 : needs.minInputTokens;
  return Math.min(maxOutputTokens, contextLength - input);
}
