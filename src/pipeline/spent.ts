import { type Cost, isCredible, type Usage } from '../domain/usage.ts';
import { addCost, costOf, estimateUsage } from '../metering/cost.ts';
import { costOfAnswer } from '../metering/image-cost.ts';
import { pricesOfTier } from '../metering/price.ts';
import type { Endpoint } from '../providers/provider-entry.ts';
import type { AnswerPictures } from './answer-pictures.ts';
import type { Run } from './run.ts';

/** What an attempt used and cost. */
export interface Spent {
  usage: Usage;
  cost: Cost;
  /** The service tier whose price counts. */
  tier: string | null;
}

/** Nobody made anything, so there is nothing to price. */
export const free: Cost = { inputNanoUsd: 0n, outputNanoUsd: 0n, priced: true };

/**
 * What the last attempt used: as the provider reported it, or had counted when its answer broke off, or else an estimate
 * that says so.
 *
 * @param producedLength characters of output that it made
 * @param pictures that it made, where they have a price
 * @returns undefined when it made no output that anybody knows of: then a failure costs nothing
 * @see responses.md section 5, "Zero-output answers"
 */
export function measureAttempt(run: Run, producedLength: number, pictures?: AnswerPictures): Usage | undefined {
  const reported = run.finish?.usage;
  if (reported && isCredible(reported)) return reported;
  const counted = run.finish === undefined && run.counted && isCredible(run.counted) ? run.counted : undefined;
  if (counted && counted.outputTokens > 0) return counted;
  if (producedLength === 0 && !pictures) return undefined;
  const guess = estimateUsage(run.sent.characters + lengthOfTools(run), producedLength);
  if (!counted) return guess;
  const { outputTokens } = guess;
  return { ...counted, outputTokens, totalTokens: counted.inputTokens + outputTokens, estimated: true };
}

function lengthOfTools({ request: { tools } }: Run): number {
  return tools === undefined ? 0 : JSON.stringify(tools).length;
}

/**
 * What usage of the last attempt costs; nothing where a router pays.
 *
 * @param pictures that it made, where they have a price
 */
export function priceAt(run: Run, endpoint: Endpoint, usage: Usage, pictures?: AnswerPictures): Spent {
  const tier = run.finish?.serviceTier ?? endpoint.tier ?? null;
  if (run.plan?.choiceOf(endpoint)?.isFree) return { usage, cost: free, tier };
  const pricing = pricesOfTier(endpoint, run.finish?.serviceTier);
  const { images } = run.sent;
  // Where each picture has its price: no provider says how many it read.
  const all = pricing?.imageNanoUsd && images > 0 ? withImages(usage, images) : usage;
  if (!pictures) return { usage: all, cost: costOf(pricing, all), tier };
  const references = Array.from({ length: images }, () => ({ width: undefined, height: undefined }));
  return { usage: all, cost: costOfAnswer({ image: endpoint.image, pricing }, all, { ...pictures, references }), tier };
}

const withImages = (usage: Usage, inputImages: number): Usage => ({
  ...usage,
  special: { ...usage.special, inputImages },
});

/** What the attempts have cost that broke off before one answered. */
export function costOfBroken(run: Run): Cost {
  let sum = free;
  for (const { spent } of run.attempts) if (spent) sum = addCost(sum, spent.cost);
  return sum;
}
