import type { EndpointFacts } from '../domain/endpoint.ts';
import {
  type BookedEntry,
  type LedgerEntry,
  type LedgerLine,
  settledCost,
  summedCost,
} from '../domain/ledger-entry.ts';
import { type Cost, type Usage, usage } from '../domain/usage.ts';
import type { Correction } from '../platform/storage/storage.ts';
import { costOf, totalOf } from './cost.ts';
import { isPricedByTokens, pictureLinesOf } from './image-cost.ts';
import { pricesOfTier } from './price.ts';

/** What pricing again must know of an endpoint. */
export type PricedEndpoint = Pick<
  EndpointFacts,
  'id' | 'provider' | 'tier' | 'pricing' | 'tierPricing' | 'workspace' | 'makesText' | 'image'
>;

/** Answers of these cost nothing, whatever the model asks. @see routers.md section 6 */
const freeRouters = new Set(['router/bodybuilder']);

/**
 * Is what was booked no matter of today's prices? Nobody answered; a failure that made no output, and what a router pays,
 * cost nothing; what a killed gateway had under way is an estimate of several attempts that cannot be told apart; and of
 * pictures that `POST /images` made the ledger knows neither number nor sizes.
 */
export function isSettled(entry: BookedEntry): boolean {
  const { model, router, outcome, outputTokens, errorType, lines, apiType } = entry;
  if (apiType === 'image') return true;
  if (model === null || (router !== null && freeRouters.has(router))) return true;
  if (errorType === 'gateway_stopped' && lines === undefined) return true;
  const hasFailed = outcome === 'failed' || outcome === 'cancelled';
  return hasFailed && outputTokens === 0 && settledCost(entry) === 0n;
}

/**
 * What an entry costs at today's prices: the sum of its lines where it has several.
 *
 * @param find gives the endpoints that a model has now
 * @returns undefined when no price is known for who answered, or for one of those who did: the entry then stays as it is
 */
export function priceAgain(entry: LedgerEntry, find: (model: string) => readonly PricedEndpoint[]): Cost | undefined {
  const sum: Cost = { inputNanoUsd: 0n, outputNanoUsd: 0n, toolsNanoUsd: 0n, priced: true };
  for (const part of entry.lines ?? [entry]) {
    const endpoint = part.model === null ? undefined : chooseEndpoint(part, entry.workspaceId, find(part.model));
    const pricing = endpoint && pricesOfTier(endpoint, part.tier);
    // Of pictures the ledger knows the tokens alone, not how many there were and how large.
    if (!pricing || (entry.apiType === 'image' ? !isPricedByTokens(endpoint) : pictureLinesOf(endpoint)))
      return undefined;
    const cost = costOf(pricing, readUsage(part));
    if (!cost.priced) return undefined;
    sum.inputNanoUsd += cost.inputNanoUsd;
    sum.outputNanoUsd += cost.outputNanoUsd;
    sum.toolsNanoUsd! += cost.toolsNanoUsd ?? 0n; // set above
  }
  return sum;
}

/** What an entry's cost has to be corrected by; undefined when it agrees with what it costs today. */
export function findCorrection(entry: BookedEntry, cost: Cost): Correction | undefined {
  const costNanoUsd = totalOf(cost) - summedCost(entry);
  if (settledCost(entry) !== null && costNanoUsd === 0n) return undefined;
  const input = entry.inputCostNanoUsd + (entry.correction?.inputCostNanoUsd ?? 0n);
  return { entry, costNanoUsd, inputCostNanoUsd: cost.inputNanoUsd - input };
}

/** What an entry and its lines have in common. */
type Part = LedgerEntry | LedgerLine;

/**
 * The endpoint that answered. Under its id it may be gone, by another name in the configuration for example, and older
 * entries do not know it: then one of the same provider and tier, if all that come into question ask the same.
 */
function chooseEndpoint(
  { endpointId, providerId, provider: name, tier: used }: Part,
  workspaceId: string,
  endpoints: readonly PricedEndpoint[],
): PricedEndpoint | undefined {
  const same = endpoints.find(({ id }) => id === endpointId);
  if (same) return same.makesText ? same : undefined;
  const those = endpoints.filter(({ provider, workspace, makesText }) => {
    const isProvider = providerId === null ? provider.name === name : provider.id === providerId;
    return isProvider && makesText && (workspace === undefined || workspace === workspaceId);
  });
  const ofTier = those.filter(({ tier = 'default' }) => tier === (used ?? 'default'));
  const [first, ...others] = ofTier.length > 0 ? ofTier : those;
  const prices = JSON.stringify(first?.pricing);
  return others.every(({ pricing }) => JSON.stringify(pricing) === prices) ? first : undefined;
}

function readUsage(part: Part): Usage {
  const { inputTokens, outputTokens, cachedTokens, cacheWriteTokens, reasoningTokens, special } = part;
  return usage({ inputTokens, outputTokens, cachedTokens, cacheWriteTokens, reasoningTokens, special });
}
