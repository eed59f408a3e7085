/** The usage of one response, independent of the provider's format. All counts are tokens. */
export interface Usage {
  /** All input, cached or not. */
  inputTokens: number;
  /** All output, reasoning included. */
  outputTokens: number;
  /** The sum that the provider reported, otherwise ours. */
  totalTokens: number;
  /** The part of `inputTokens` read from the provider's prompt cache. */
  cachedTokens: number;
  /** The part of `inputTokens` written to that cache. Undefined: not reported. */
  cacheWriteTokens?: number;
  /** The part of `outputTokens` spent on reasoning. */
  reasoningTokens: number;
  /** Counts that few responses have. Absent: all of them are 0. */
  special?: SpecialCounts;
  /** The cost that the provider reported, in nano-dollars. It is stored, but never recorded as our cost. */
  upstreamCostNanoUsd?: number;
  /** Whether the provider did not report all counts, and some are derived from the length of the texts. */
  estimated?: boolean;
  /** The count that the provider did not report, which is 0 here. Absent: none. */
  missing?: 'inputTokens' | 'outputTokens';
}

/** Counts with prices of their own. Absent: 0. */
export interface SpecialCounts {
  /** The part of `cacheWriteTokens` that is kept for an hour instead of five minutes. */
  cacheWrite1hTokens?: number;
  /** The part of `inputTokens` that is audio. */
  inputAudioTokens?: number;
  /** The part of `inputAudioTokens` that is among `cachedTokens`. */
  cachedAudioTokens?: number;
  /** The part of `inputTokens` that is images. */
  inputImageTokens?: number;
  /** The part of `outputTokens` that is audio. */
  outputAudioTokens?: number;
  /** The part of `outputTokens` that is images. */
  outputImageTokens?: number;
  /** Images in the input, if the endpoint has a price per image. */
  inputImages?: number;
  /** Web searches of the provider, or search units of a rerank. */
  webSearches?: number;
}

/** All of `SpecialCounts`, in the order in which they are stored. */
export const specialCounts = [
  'cacheWrite1hTokens',
  'inputAudioTokens',
  'cachedAudioTokens',
  'inputImageTokens',
  'outputAudioTokens',
  'outputImageTokens',
  'inputImages',
  'webSearches',
] as readonly (keyof SpecialCounts)[];

/** Keeps the counts that are not 0. @returns undefined if none is left, so that a usual response has no such field */
export function special(counts: { [Name in keyof SpecialCounts]: number | undefined }): SpecialCounts | undefined {
  let kept: SpecialCounts | undefined;
  for (const name of specialCounts) {
    const count = counts[name];
    if (!count) continue;
    kept ??= {};
    kept[name] = count;
  }
  return kept;
}

export function usage(counts: Partial<Usage> & Pick<Usage, 'inputTokens' | 'outputTokens'>): Usage {
  const all: Usage = {
    inputTokens: counts.inputTokens,
    outputTokens: counts.outputTokens,
    totalTokens: counts.totalTokens ?? counts.inputTokens + counts.outputTokens,
    cachedTokens: counts.cachedTokens ?? 0,
    reasoningTokens: counts.reasoningTokens ?? 0,
  };
  if (counts.cacheWriteTokens !== undefined) all.cacheWriteTokens = counts.cacheWriteTokens;
  if (counts.special) all.special = counts.special;
  if (counts.missing) all.missing = counts.missing;
  if (counts.upstreamCostNanoUsd !== undefined) all.upstreamCostNanoUsd = counts.upstreamCostNanoUsd;
  if (counts.estimated) all.estimated = true;
  return all;
}

/**
 * Reads a count of a provider. Some servers send it as a text.
 *
 * @returns undefined if it is no number
 */
export function readCount(value: unknown): number | undefined {
  if (typeof value === 'number') return value > 0 ? Math.ceil(value) : value;
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}

/**
 * Returns the input and the output. One that the provider did not report is the rest of the total. If there is none, it
 * is 0 and named as missing.
 */
export function completeCounts(
  input: number | undefined,
  output: number | undefined,
  total = 0,
): Pick<Usage, 'inputTokens' | 'outputTokens' | 'missing'> {
  if (input === undefined && output !== undefined) {
    if (total > output) return { inputTokens: total - output, outputTokens: output };
    return { inputTokens: 0, outputTokens: output, missing: 'inputTokens' };
  }
  if (input !== undefined && output === undefined) {
    if (total > input) return { inputTokens: input, outputTokens: total - input };
    return { inputTokens: input, outputTokens: 0, missing: 'outputTokens' };
  }
  return { inputTokens: input ?? 0, outputTokens: output ?? 0 };
}

/** Adds the usage of two model calls. */
export function addUsage(a: Usage, b: Usage): Usage {
  const add = (x: number | undefined, y: number | undefined): number | undefined =>
    x === undefined && y === undefined ? undefined : (x ?? 0) + (y ?? 0);
  const names = specialCounts.map((name) => [name, add(a.special?.[name], b.special?.[name])]);
  const cacheWriteTokens = add(a.cacheWriteTokens, b.cacheWriteTokens);
  const specialSums = special(Object.fromEntries(names));
  const upstreamCostNanoUsd = add(a.upstreamCostNanoUsd, b.upstreamCostNanoUsd);
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    totalTokens: a.totalTokens + b.totalTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
    ...(cacheWriteTokens !== undefined && { cacheWriteTokens }),
    ...(specialSums && { special: specialSums }),
    ...(upstreamCostNanoUsd !== undefined && { upstreamCostNanoUsd }),
    ...((a.estimated || b.estimated) && { estimated: true }),
  };
}

/**
 * Corrects counts that cannot be true together, and marks them as estimated: cached tokens beyond the input are beside it,
 * and the rest of a total is output that reasoning took.
 */
export function reconcileCounts(reported: Usage): Usage {
  const { inputTokens: input, outputTokens: output, totalTokens: total, cachedTokens, cacheWriteTokens = 0 } = reported;
  const cached = cachedTokens + cacheWriteTokens;
  const inputTokens = cached > input ? input + cached : input;
  const rest = Math.max(0, total - inputTokens - output);
  if (inputTokens === input && rest === 0) return reported;
  return {
    ...reported,
    inputTokens,
    outputTokens: output + rest,
    reasoningTokens: Math.min(reported.reasoningTokens + rest, output + rest),
    totalTokens: inputTokens + output + rest,
    estimated: true,
  };
}

/** More tokens than any one response can have. */
const MAX_TOKENS = 1_000_000_000;

/** Whether a reported usage can be true: whole numbers, not negative, not absurdly large. */
export function isCredible(reported: Usage): boolean {
  const { inputTokens, outputTokens, totalTokens, cachedTokens, cacheWriteTokens = 0, reasoningTokens } = reported;
  const counts = [inputTokens, outputTokens, totalTokens, cachedTokens, cacheWriteTokens, reasoningTokens];
  return counts.every(isCount) && (!reported.special || Object.values(reported.special).every(isCount));
}

const isCount = (count: number): boolean => Number.isInteger(count) && count >= 0 && count <= MAX_TOKENS;

/**
 * Reads the cost that a provider reports, as nano-dollars.
 *
 * @param unitsPerUsd 1 if the amount is in dollars
 * @returns undefined if the amount cannot be true
 */
export function readUpstreamCost(amount: unknown, unitsPerUsd = 1): number | undefined {
  if (typeof amount !== 'number') return undefined;
  const nanoUsd = Math.round((amount / unitsPerUsd) * 1e9);
  return Number.isSafeInteger(nanoUsd) && nanoUsd >= 0 ? nanoUsd : undefined;
}

/** The cost of a response. Money is integer nano-dollars: 1 USD = 1,000,000,000. */
export interface Cost {
  inputNanoUsd: bigint;
  outputNanoUsd: bigint;
  /** Fees of the provider's own tools, and charges of plugins and server tools. Absent: there are none. */
  toolsNanoUsd?: bigint;
  /** False: the catalog has no price. The sums are then 0 and have no meaning. */
  priced: boolean;
}

/** Tokens that were written to a cache, by how long it keeps them. */
export interface CacheCreation {
  ephemeral_5m_input_tokens: number;
  ephemeral_1h_input_tokens: number;
}

/** `usage` of the response object. @see docs/reference/responses.md#result */
export interface WireUsage {
  input_tokens: number;
  /** Counts that the provider does not report are 0: typed clients require both. */
  input_tokens_details: {
    cached_tokens: number;
    cache_write_tokens: number;
    /** The parts of the written tokens. Absent: none is kept for an hour. */
    cache_creation?: CacheCreation;
  };
  output_tokens: number;
  output_tokens_details: { reasoning_tokens: number };
  total_tokens: number;
  cost: number | null;
  cost_details?: {
    upstream_inference_input_cost: number;
    upstream_inference_output_cost: number;
    upstream_inference_cost?: number;
    server_tool_cost?: number;
  };
  is_byok: boolean;
  server_tool_use_details?: {
    tool_calls_requested?: number;
    tool_calls_executed?: number;
    web_search_requests: number;
  };
  /** The older place of the same count. */
  server_tool_use?: { web_search_requests: number };
}

/** Counts of the server tools of a run. */
export interface ToolUse {
  /** Calls that the model requested, including invalid ones. */
  requested: number;
  /** Calls that were executed and gave a result, which may be a failure. */
  executed: number;
}

/**
 * Whether a `usage` object has a value. Some servers send an empty one with every chunk, and the counts after the
 * finish reason: zed-industries/zed#42893.
 */
export const hasCounts = (wire: unknown): wire is Record<string, unknown> =>
  typeof wire === 'object' && wire !== null && Object.values(wire).some((value) => value !== null);
