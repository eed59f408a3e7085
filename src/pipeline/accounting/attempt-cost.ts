import { estimateTokens } from '../../domain/estimate-tokens.ts';
import type { ImageCounts } from '../../domain/images.ts';
import type { OutputItem } from '../../domain/items.ts';
import { truncateName } from '../../domain/truncate-name.ts';
import { type Cost, usage as createUsage, isCredible, reconcileCounts, type Usage } from '../../domain/usage.ts';
import { addCost, boundCost, costOf, estimateUsage } from '../../metering/cost.ts';
import { costOfResponse, imageLinesOf } from '../../metering/image-cost.ts';
import { pricesOfTier } from '../../metering/price.ts';
import type { Endpoint } from '../../providers/provider.ts';
import type { Attempt, AttemptCost, TextAttempt } from '../run/attempt.ts';
import { countResponseImages } from './response-images.ts';
import type { Run, RunBase } from '../run/run.ts';

/** A known cost of 0. */
export const zeroCost: Cost = { inputNanoUsd: 0n, outputNanoUsd: 0n, priced: true };

/**
 * Measures the usage and cost of an attempt: the provider's report, or its counts so far if its output was interrupted,
 * or else an estimate that is marked as one.
 *
 * @param items finished items of its output; image calls among them may have a price
 * @returns undefined without known output: a failure then costs nothing
 * @see docs/guides/money.md#interrupted-responses-and-crashes
 */
export function measureAttempt(run: Run, attempt: TextAttempt, items: readonly OutputItem[]): AttemptCost | undefined {
  const { endpoint, sent } = attempt;
  const images = endpoint.image && countResponseImages(endpoint, items, sent.images);
  const usage = measureUsage(run, attempt, images !== undefined && hasPriced(endpoint, images));
  // A regular end without output still has a tier and input images.
  if (usage || attempt.finish) return priceAttempt(run, attempt, usage ?? usedNothing(), images);
  return undefined;
}

/** The usage of an attempt without known output. */
export const usedNothing = (estimated = false): Usage => createUsage({ inputTokens: 0, outputTokens: 0, estimated });

function measureUsage(run: Run, attempt: TextAttempt, hasPricedImages: boolean): Usage | undefined {
  const { finish, producedTokens } = attempt;
  const reported = readCounts(finish?.usage, producedTokens);
  if (reported) return reported.missing ? addMissing(run, attempt, reported) : reported;
  const isInterrupted = finish === undefined && (producedTokens > 0 || (attempt.counted?.outputTokens ?? 0) > 0);
  const counted = isInterrupted ? readCounts(attempt.counted, producedTokens) : undefined;
  if (counted && counted.outputTokens > 0) return counted.missing ? addMissing(run, attempt, counted) : counted;
  if (producedTokens === 0 && !hasPricedImages) return undefined;
  if (!counted || counted.missing === 'inputTokens') return guessUsage(run, attempt);
  return addMissing(run, attempt, { ...counted, missing: 'outputTokens' });
}

/**
 * Returns counts that can be true. Output that the provider sent and did not count is missing.
 *
 * @returns undefined if the counts are malformed, or all 0 beside output
 */
function readCounts(reported: Usage | undefined, producedTokens: number): Usage | undefined {
  if (!reported || !isCredible(reported)) return undefined;
  const { inputTokens, outputTokens, upstreamCostNanoUsd, missing } = reported;
  const isPartial = outputTokens > 0 && inputTokens === 0 && upstreamCostNanoUsd === undefined; // every prompt has tokens
  if (isPartial) return reconcileCounts({ ...reported, missing: missing ?? 'inputTokens' });
  if (outputTokens > 0 || producedTokens === 0) return reconcileCounts(reported);
  if (inputTokens === 0 && upstreamCostNanoUsd === undefined) return undefined;
  return reconcileCounts({ ...reported, missing: missing ?? 'outputTokens' });
}

/** Estimates the count that the provider did not report. Without output there is none to count. */
function addMissing(run: Run, attempt: TextAttempt, { missing, ...reported }: Usage): Usage {
  if (missing === 'outputTokens' && attempt.producedTokens === 0) return reported;
  const guess = guessUsage(run, attempt);
  // A report without the whole count can have parts of it, such as cached tokens.
  const inputTokens =
    missing === 'inputTokens' ? Math.max(guess.inputTokens, reported.inputTokens) : reported.inputTokens;
  const outputTokens =
    missing === 'outputTokens' ? Math.max(guess.outputTokens, reported.outputTokens) : reported.outputTokens;
  return { ...reported, inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, estimated: true };
}

/** Estimates what was sent and produced. The output is at most what the request and the endpoint allow. */
const guessUsage = ({ request }: Run, { sent, producedTokens, endpoint }: TextAttempt): Usage =>
  estimateUsage(
    sent.tokens + tokensOfTools(request),
    Math.min(
      producedTokens,
      request.max_output_tokens ?? Number.POSITIVE_INFINITY,
      endpoint.maxOutputTokens ?? Number.POSITIVE_INFINITY,
    ),
  );

/** Estimates the usage of an attempt whose provider has sent nothing yet. */
export const estimateInput = ({ request }: Run, { sent }: TextAttempt): Usage =>
  estimateUsage(sent.tokens + tokensOfTools(request), 0);

const tokensOfTools = ({ tools }: Run['request']): number =>
  tools === undefined ? 0 : estimateTokens([JSON.stringify(tools)]);

/** Whether the response contains images with their own price. */
const hasPriced = (endpoint: Endpoint, { made }: ImageCounts): boolean =>
  made > 0 && imageLinesOf(endpoint) !== undefined;

/**
 * Prices the usage of an attempt. The cost is 0 if a router pays.
 *
 * @param images counts of its images, if the endpoint can generate some
 */
export function priceAttempt(run: Run, attempt: TextAttempt, usage: Usage, images?: ImageCounts): AttemptCost {
  const { endpoint, finish, sent } = attempt;
  const reported = finish?.serviceTier;
  const tier = reported ? truncateName(reported) : (endpoint.tier ?? null);
  const counted = images && { pictures: images };
  if (isPaidByRouter(run, endpoint)) return { usage, cost: zeroCost, tier, ...counted };
  const pricing = pricesOfTier(endpoint, reported);
  // Adds the input images if each one has a price, because no provider reports their number.
  const all = pricing?.imageNanoUsd && sent.images > 0 ? withImages(usage, sent.images) : usage;
  const cost = images ? costOfResponse({ image: endpoint.image, pricing }, all, images) : costOf(pricing, all);
  return { usage: all, cost: cost.priced ? cost : (readReportedCost(usage) ?? cost), tier, ...counted };
}

/** Returns the cost that the provider reported, which counts where no price is known. */
function readReportedCost({ upstreamCostNanoUsd }: Usage): Cost | undefined {
  if (upstreamCostNanoUsd === undefined) return undefined;
  return boundCost({ inputNanoUsd: 0n, outputNanoUsd: BigInt(upstreamCostNanoUsd), priced: true });
}

/** Whether a router pays for the endpoint. */
export const isPaidByRouter = ({ steps }: RunBase, endpoint: Endpoint): boolean =>
  steps.at(-1)?.plan.choiceOf(endpoint)?.isFree === true;

const withImages = (usage: Usage, inputImages: number): Usage => ({
  ...usage,
  special: { ...usage.special, inputImages },
});

/** Returns the total cost of attempts. */
export const sumCosts = (attempts: readonly Attempt[]): Cost =>
  attempts.reduce((sum, { spent }) => (spent ? addCost(sum, spent.cost) : sum), zeroCost);
