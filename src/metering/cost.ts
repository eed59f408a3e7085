import type { Pricing } from '../domain/endpoint.ts';
import type { Cost, SpecialCounts, ToolUse, Usage, WireUsage } from '../domain/usage.ts';
import { pricesFor } from './price.ts';

const MILLION = 1_000_000n;

/**
 * Prices a response, exact to the nano-dollar: sums of tokens times integer prices, rounded half up once per side.
 *
 * Each token is priced once, by the first matching row, at the first price in that row that the model has:
 *
 * | Input | |
 * |---|---|
 * | read from the cache | `cacheRead`, `prompt` |
 * | … and audio | `audioCacheRead`, `cacheRead`, `prompt` |
 * | written to the cache for an hour | `cacheWrite1h`, `cacheWrite`, `prompt` |
 * | written to it for five minutes | `cacheWrite`, `prompt` |
 * | audio | `audio`, `prompt` |
 * | images | `imageToken`, `prompt` |
 * | the rest | `prompt` |
 *
 * | Output | |
 * |---|---|
 * | reasoning | `reasoning`, `completion` |
 * | audio | `audioOutput`, `completion` |
 * | images | `imageOutput`, `completion` |
 * | the rest | `completion` |
 *
 * The length of the whole input selects the prices of `above`. The price of the request and of each input image is
 * part of the input. Search fees are separate. Contradictory counts (more cached tokens than input) are reduced in
 * this order, so that nothing is priced twice.
 *
 * @param known undefined if there is no price; the cost is then 0 and marked as not priced
 */
export function costOf(known: Pricing | undefined, usage: Usage): Cost {
  if (!known) return { inputNanoUsd: 0n, outputNanoUsd: 0n, priced: false };
  const pricing = pricesFor(known, usage.inputTokens);
  const { special } = usage;
  const cost: Cost = {
    inputNanoUsd: roundMillionth(priceInput(pricing, usage, special)) + BigInt(pricing.requestNanoUsd ?? 0),
    outputNanoUsd: roundMillionth(priceOutput(pricing, usage, special)),
    priced: true,
  };
  if (special?.inputImages) cost.inputNanoUsd += BigInt(special.inputImages) * BigInt(pricing.imageNanoUsd ?? 0);
  if (special?.webSearches) {
    const fees = BigInt(special.webSearches) * BigInt(pricing.webSearchNanoUsd ?? 0);
    const tools = fees + BigInt(pricing.searchedRequestNanoUsd ?? 0);
    if (tools > 0n) cost.toolsNanoUsd = tools;
  }
  return boundCost(cost);
}

/**
 * Maximum cost of one response: nine million dollars. JSON is exact up to there, and the sum of a thousand such
 * responses fits into the ledger.
 */
export const MAX_COST_NANO_USD = 9_000_000n * 1_000_000_000n;

/**
 * Caps an impossible cost, from invalid counts or prices, at the maximum and marks it as not priced.
 */
export function boundCost(cost: Cost): Cost {
  if (totalOf(cost) <= MAX_COST_NANO_USD) return cost;
  const inputNanoUsd = cost.inputNanoUsd < MAX_COST_NANO_USD ? cost.inputNanoUsd : MAX_COST_NANO_USD;
  return { inputNanoUsd, outputNanoUsd: MAX_COST_NANO_USD - inputNanoUsd, priced: false };
}

/** Returns the sum of all parts of a cost. */
export const totalOf = ({ inputNanoUsd, outputNanoUsd, toolsNanoUsd }: Cost): bigint =>
  inputNanoUsd + outputNanoUsd + (toolsNanoUsd ?? 0n);

export function addCost(a: Cost, b: Cost): Cost {
  const sum: Cost = {
    inputNanoUsd: a.inputNanoUsd + b.inputNanoUsd,
    outputNanoUsd: a.outputNanoUsd + b.outputNanoUsd,
    priced: a.priced && b.priced,
  };
  if (a.toolsNanoUsd !== undefined || b.toolsNanoUsd !== undefined) {
    sum.toolsNanoUsd = (a.toolsNanoUsd ?? 0n) + (b.toolsNanoUsd ?? 0n);
  }
  return sum;
}

/** @returns millionths of a nano-dollar */
function priceInput(pricing: Pricing, usage: Usage, special: SpecialCounts | undefined): bigint {
  const prompt = pricing.promptNanoUsdPerMillion;
  const cacheRead = pricing.cacheReadNanoUsdPerMillion ?? prompt;
  const cacheWrite = pricing.cacheWriteNanoUsdPerMillion ?? prompt;
  const cached = Math.min(usage.cachedTokens, usage.inputTokens);
  const written = Math.min(usage.cacheWriteTokens ?? 0, usage.inputTokens - cached);
  const rest = usage.inputTokens - cached - written;
  const sum = times(cached, cacheRead) + times(written, cacheWrite) + times(rest, prompt);
  if (!special) return sum;

  const { cacheWrite1hTokens = 0, inputAudioTokens = 0, cachedAudioTokens = 0, inputImageTokens = 0 } = special;
  const cachedAudio = Math.min(cachedAudioTokens, inputAudioTokens, cached);
  const audio = Math.min(inputAudioTokens - cachedAudio, rest);
  return (
    sum +
    times(Math.min(cacheWrite1hTokens, written), (pricing.cacheWrite1hNanoUsdPerMillion ?? cacheWrite) - cacheWrite) +
    times(cachedAudio, (pricing.audioCacheReadNanoUsdPerMillion ?? cacheRead) - cacheRead) +
    times(audio, (pricing.audioNanoUsdPerMillion ?? prompt) - prompt) +
    times(Math.min(inputImageTokens, rest - audio), (pricing.imageTokenNanoUsdPerMillion ?? prompt) - prompt)
  );
}

/** @returns millionths of a nano-dollar */
function priceOutput(pricing: Pricing, usage: Usage, special: SpecialCounts | undefined): bigint {
  const completion = pricing.completionNanoUsdPerMillion;
  const reasoning = Math.min(usage.reasoningTokens, usage.outputTokens);
  const rest = usage.outputTokens - reasoning;
  const sum = times(rest, completion) + times(reasoning, pricing.reasoningNanoUsdPerMillion ?? completion);
  if (!special) return sum;

  const audio = Math.min(special.outputAudioTokens ?? 0, rest);
  const images = Math.min(special.outputImageTokens ?? 0, rest - audio);
  return (
    sum +
    times(audio, (pricing.audioOutputNanoUsdPerMillion ?? completion) - completion) +
    times(images, (pricing.imageOutputNanoUsdPerMillion ?? completion) - completion)
  );
}

const times = (tokens: number, price: number): bigint => BigInt(tokens) * BigInt(price);
const roundMillionth = (value: bigint): bigint => (value + MILLION / 2n) / MILLION;

/** Converts to dollars as a JSON number. Exact up to 9 million dollars. */
export const usdOf = (nanoUsd: bigint): number => Number(nanoUsd) / 1e9;
/** Formats dollars with all digits, without an exponent. */
export const writeDollars = (nanoUsd: bigint): string =>
  usdOf(nanoUsd)
    .toFixed(9)
    .replace(/\.?0+$/, '');
export const nanoUsdOf = (dollars: number): bigint => BigInt(Math.round(dollars * 1e9));

/** The parts of a cost that `usage` shows apart. */
export interface CostParts {
  /** Whether a BYOK key was used. */
  isByok?: boolean;
  /** Costs of the inner runs. */
  inner?: readonly Cost[];
  /** The part of the cost that is charges of plugins and server tools: the provider has nothing to do with it. */
  chargesNanoUsd?: bigint;
  /** Counts of the server tools, if the request has some. */
  toolUse?: ToolUse | undefined;
}

/** Writes `usage` of the response object. `cost` is null if no price is known. */
export function writeUsage(usage: Usage, cost: Cost, parts: CostParts = {}): WireUsage {
  const { isByok = false, inner = [], chargesNanoUsd = 0n, toolUse } = parts;
  const usesTools = toolUse !== undefined && toolUse.requested > 0;
  const total = inner.reduce(addCost, cost);
  const wire: WireUsage = {
    input_tokens: usage.inputTokens,
    input_tokens_details: { cached_tokens: usage.cachedTokens, cache_write_tokens: usage.cacheWriteTokens ?? 0 },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.totalTokens,
    cost: total.priced ? usdOf(totalOf(total)) : null,
    is_byok: isByok,
  };
  const { upstreamCostNanoUsd: upstream, special } = usage;
  if (special?.cacheWrite1hTokens) {
    const hour = special.cacheWrite1hTokens;
    wire.input_tokens_details.cache_creation = {
      ephemeral_5m_input_tokens: Math.max(0, wire.input_tokens_details.cache_write_tokens - hour),
      ephemeral_1h_input_tokens: hour,
    };
  }
  if (total.priced) {
    wire.cost_details = {
      upstream_inference_input_cost: usdOf(total.inputNanoUsd),
      upstream_inference_output_cost: usdOf(total.outputNanoUsd),
    };
    if (upstream !== undefined) wire.cost_details.upstream_inference_cost = upstream / 1e9;
    else if (isByok) wire.cost_details.upstream_inference_cost = usdOf(totalOf(cost) - chargesNanoUsd);
    if (total.toolsNanoUsd !== undefined || usesTools)
      wire.cost_details.server_tool_cost = usdOf(total.toolsNanoUsd ?? 0n);
  }
  if (special?.webSearches) wire.server_tool_use_details = { web_search_requests: special.webSearches };
  if (usesTools) {
    wire.server_tool_use_details = {
      tool_calls_requested: toolUse.requested,
      tool_calls_executed: toolUse.executed,
      web_search_requests: special?.webSearches ?? 0,
    };
  }
  const { server_tool_use_details: details } = wire;
  if (details) wire.server_tool_use = { web_search_requests: details.web_search_requests }; // the older place
  return wire;
}

/** Rounds the estimated usage of a response without a report up to whole tokens. */
export function estimateUsage(input: number, output: number): Usage {
  const inputTokens = Math.ceil(input);
  const outputTokens = Math.ceil(output);
  return {
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    cachedTokens: 0,
    reasoningTokens: 0,
    estimated: true,
  };
}
