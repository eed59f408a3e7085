import type { ImageCounts } from '../domain/images.ts';
import { type Cost, isCredible, type Usage } from '../domain/usage.ts';
import { addCost, costOf, estimateUsage } from '../metering/cost.ts';
import { costOfResponse, imageLinesOf } from '../metering/image-cost.ts';
import { pricesOfTier } from '../metering/price.ts';
import type { Endpoint } from '../providers/provider-entry.ts';
import { truncateName } from './truncate-name.ts';
import type { Run } from './run.ts';

/** What an attempt used and cost. */
export interface AttemptCost {
  usage: Usage;
  cost: Cost;
  /** The service tier whose price counts. */
  tier: string | null;
  /** Of an endpoint that can make some. */
  pictures?: ImageCounts;
}

/** Nobody made anything, so there is nothing to price. */
export const zeroCost: Cost = { inputNanoUsd: 0n, outputNanoUsd: 0n, priced: true };

/**
 * What the last attempt used: as the provider reported it, or had counted when its answer broke off, or else an estimate
 * that says so.
 *
 * @param producedLength characters of output that it made
 * @param hasImages it made some that have a price
 * @returns undefined when it made no output that anybody knows of: then a failure costs nothing
 * @see responses.md section 5, "Zero-output answers"
 */
export function measureAttempt(run: Run, producedLength: number, hasImages = false): Usage | undefined {
  const reported = run.finish?.usage;
  if (reported && isCredible(reported)) return reported;
  const counted = run.finish === undefined && run.counted && isCredible(run.counted) ? run.counted : undefined;
  if (counted && counted.outputTokens > 0) return counted;
  if (producedLength === 0 && !hasImages) return undefined;
  const guess = estimateUsage(run.sent.characters + lengthOfTools(run), producedLength);
  if (!counted) return guess;
  const { outputTokens } = guess;
  return { ...counted, outputTokens, totalTokens: counted.inputTokens + outputTokens, estimated: true };
}

function lengthOfTools({ request: { tools } }: Run): number {
  return tools === undefined ? 0 : JSON.stringify(tools).length;
}

/** Did it make pictures that have a price of their own? */
export const hasPricedImages = (endpoint: Endpoint, { made }: ImageCounts): boolean =>
  made > 0 && imageLinesOf(endpoint) !== undefined;

/**
 * What usage of the last attempt costs; nothing where a router pays.
 *
 * @param pictures that it made, where the endpoint can make some
 */
export function priceAt(run: Run, endpoint: Endpoint, usage: Usage, pictures?: ImageCounts): AttemptCost {
  const told = run.finish?.serviceTier;
  const tier = told ? truncateName(told) : (endpoint.tier ?? null);
  const counted = pictures && { pictures };
  if (run.plan?.choiceOf(endpoint)?.isFree) return { usage, cost: zeroCost, tier, ...counted };
  const pricing = pricesOfTier(endpoint, told);
  const { images } = run.sent;
  // Where each picture has its price: no provider says how many it read.
  const all = pricing?.imageNanoUsd && images > 0 ? withImages(usage, images) : usage;
  const cost = pictures ? costOfResponse({ image: endpoint.image, pricing }, all, pictures) : costOf(pricing, all);
  return { usage: all, cost, tier, ...counted };
}

const withImages = (usage: Usage, inputImages: number): Usage => ({
  ...usage,
  special: { ...usage.special, inputImages },
});

/** What the attempts have cost that broke off before one answered. */
export function costOfFailedAttempts(run: Run): Cost {
  let sum = zeroCost;
  for (const { spent } of run.attempts) if (spent) sum = addCost(sum, spent.cost);
  return sum;
}
