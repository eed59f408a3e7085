import type { EndpointFacts } from '../domain/endpoint.ts';
import { countImages } from '../domain/images.ts';
import {
  type RecordedEntry,
  type LedgerEntry,
  type LedgerLine,
  settledCost,
  summedCost,
  summedForOtherKeys,
} from '../domain/ledger-entry.ts';
import { type Cost, type Usage, usage } from '../domain/usage.ts';
import type { Correction } from '../platform/storage/ports/entries.ts';
import { totalOf } from './cost.ts';
import { costOfResponse, costOfGeneration, isPricedByTokens, needsSizes, imageLinesOf } from './image-cost.ts';
import { pricesOfTier } from './price.ts';

/** The fields of an endpoint that repricing needs. */
export type PricedEndpoint = Pick<
  EndpointFacts,
  | 'id'
  | 'provider'
  | 'tier'
  | 'pricing'
  | 'tierPricing'
  | 'workspace'
  | 'generatesText'
  | 'image'
  | 'embedding'
  | 'rerank'
>;

/** Responses of these routers are free. @see docs/reference/routers.md#bodybuilder */
const freeRouters = new Set(['router/bodybuilder']);

/**
 * Whether current prices do not affect the recorded cost: no model responded, a failure had no output, a router pays,
 * or the entry is an estimate of several attempts of a killed gateway.
 */
export function isSettled(entry: RecordedEntry): boolean {
  const { model, router, outcome, outputTokens, errorType, lines } = entry;
  if (model === null || (router !== null && freeRouters.has(router))) return true;
  if (errorType === 'gateway_stopped' && lines === undefined) return true;
  const hasFailed = outcome === 'failed' || outcome === 'cancelled';
  return hasFailed && outputTokens === 0 && settledCost(entry) === 0n;
}

/** Why an entry cannot be repriced. `uncounted`: it has prices per image, but no count of images. */
export type RepriceFailure = 'unpriced' | 'uncounted';

export interface CostToday extends Cost {
  /** The part for lines of the other kind of key (BYOK or shared) than the entry's. */
  otherKeysNanoUsd: bigint;
}

/**
 * Prices an entry with the current prices: the sum of its lines if it has several. Charges of plugins and tools keep
 * their price.
 *
 * @param find returns the current endpoints of a model
 * @returns the reason if an endpoint that responded has no known price
 */
export function reprice(
  entry: LedgerEntry,
  find: (model: string) => readonly PricedEndpoint[],
): CostToday | RepriceFailure {
  const sum = { inputNanoUsd: 0n, outputNanoUsd: 0n, toolsNanoUsd: 0n, otherKeysNanoUsd: 0n, priced: true };
  for (const part of entry.lines ?? [entry]) {
    if ('kind' in part && part.kind === 'tool') {
      sum.toolsNanoUsd += part.costNanoUsd; // its price is not in the catalog
      if (part.isByok !== entry.isByok) sum.otherKeysNanoUsd += part.costNanoUsd;
      continue;
    }
    const endpoint = part.model === null ? undefined : chooseEndpoint(part, entry, find(part.model));
    if (!endpoint) return 'unpriced';
    if (lacksCounts(part, endpoint, entry.apiType)) return 'uncounted';
    const cost = entry.apiType === 'image' ? priceGeneration(part, endpoint) : priceResponse(part, endpoint);
    if (!cost.priced) return 'unpriced';
    sum.inputNanoUsd += cost.inputNanoUsd;
    sum.outputNanoUsd += cost.outputNanoUsd;
    sum.toolsNanoUsd += cost.toolsNanoUsd ?? 0n;
    if (part.isByok !== entry.isByok) sum.otherKeysNanoUsd += totalOf(cost);
  }
  return sum;
}

/** Whether a price needs the number or size of images, and it is unknown. */
function lacksCounts({ pictures: images }: Part, endpoint: PricedEndpoint, apiType: LedgerEntry['apiType']): boolean {
  if (apiType === 'image') return images === undefined && !isPricedByTokens(endpoint);
  const lines = imageLinesOf(endpoint);
  if (!lines) return false;
  return images === undefined || (images.made > 0 && images.madePixels === undefined && needsSizes(lines));
}

/** Without the provider's report, the ledger has no tokens of a generation. */
function priceGeneration(part: Part, endpoint: PricedEndpoint): Cost {
  const used = readUsage(part);
  const isCounted = used.inputTokens > 0 || used.outputTokens > 0;
  return costOfGeneration(endpoint, {
    pictures: part.pictures ?? countImages([], []),
    usage: isCounted ? used : undefined,
  });
}

const priceResponse = (part: Part, endpoint: PricedEndpoint): Cost =>
  costOfResponse({ image: endpoint.image, pricing: pricesOfTier(endpoint, part.tier) }, readUsage(part), part.pictures);

/** Returns the correction of an entry's cost. Undefined if it matches the current cost. */
export function findCorrection(entry: RecordedEntry, cost: CostToday): Correction | undefined {
  const costNanoUsd = totalOf(cost) - summedCost(entry);
  const otherKeysNanoUsd = cost.otherKeysNanoUsd - summedForOtherKeys(entry);
  if (settledCost(entry) !== null && costNanoUsd === 0n && otherKeysNanoUsd === 0n) return undefined;
  const input = entry.inputCostNanoUsd + (entry.correction?.inputCostNanoUsd ?? 0n);
  const correction: Correction = { entry, costNanoUsd, inputCostNanoUsd: cost.inputNanoUsd - input };
  if (otherKeysNanoUsd !== 0n) correction.otherKeysNanoUsd = otherKeysNanoUsd;
  return correction;
}

/** The common fields of an entry and its lines. */
type Part = LedgerEntry | LedgerLine;

/**
 * Returns the endpoint that responded. Its id may have changed, and older entries lack it. Then it is one of the same
 * provider and tier, if all of them have the same prices.
 */
function chooseEndpoint(
  { endpointId, providerId, provider: name, tier: used }: Part,
  { workspaceId, apiType }: LedgerEntry,
  endpoints: readonly PricedEndpoint[],
): PricedEndpoint | undefined {
  const canDo = ({ generatesText, image, embedding, rerank }: PricedEndpoint) => {
    switch (apiType) {
      case 'image':
        return image !== undefined;
      case 'embeddings':
        return embedding !== undefined;
      case 'rerank':
        return rerank !== undefined;
      case undefined:
        return generatesText;
    }
  };
  const same = endpoints.find(({ id }) => id === endpointId);
  if (same) return canDo(same) ? same : undefined;
  const those = endpoints.filter((endpoint) => {
    const { provider, workspace } = endpoint;
    const isProvider = providerId === null ? provider.name === name : provider.id === providerId;
    return isProvider && canDo(endpoint) && (workspace === undefined || workspace === workspaceId);
  });
  const ofTier = those.filter(({ tier = 'default' }) => tier === (used ?? 'default'));
  const [first, ...others] = ofTier.length > 0 ? ofTier : those;
  const pricesOf = (endpoint: PricedEndpoint) => JSON.stringify([endpoint.pricing, endpoint.image?.pricing]);
  return first && others.every((other) => pricesOf(other) === pricesOf(first)) ? first : undefined;
}

function readUsage(part: Part): Usage {
  const { inputTokens, outputTokens, cachedTokens, cacheWriteTokens, reasoningTokens, special } = part;
  return usage({ inputTokens, outputTokens, cachedTokens, cacheWriteTokens, reasoningTokens, special });
}
