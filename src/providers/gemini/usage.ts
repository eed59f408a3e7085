import type { FinishReason } from '../../domain/chunks.ts';
import { GatewayError } from '../../domain/errors.ts';
import { readCount, special, type Usage, usage } from '../../domain/usage.ts';

/**
 * The thoughts are beside the candidates, or a part of them: the total shows which.
 *
 * @param searches queries that the provider sent to its search
 * @returns undefined if nothing was reported
 * @see docs/reference/wires.md
 */
export function readUsage(counts: Record<string, unknown> | undefined, searches = 0): Usage | undefined {
  const total = readCount(counts?.totalTokenCount);
  if (!counts || readCount(counts.promptTokenCount) === undefined) return undefined;
  const input = count(counts.promptTokenCount) + count(counts.toolUsePromptTokenCount);
  const thoughts = count(counts.thoughtsTokenCount);
  const candidates = count(counts.candidatesTokenCount);
  const hasThoughts = candidates >= thoughts && total === input + candidates;
  const output = hasThoughts ? candidates : candidates + thoughts;
  return usage({
    inputTokens: input,
    outputTokens: output,
    cachedTokens: count(counts.cachedContentTokenCount),
    reasoningTokens: thoughts,
    special: special({
      inputAudioTokens:
        countOf('AUDIO', counts.promptTokensDetails) + countOf('AUDIO', counts.toolUsePromptTokensDetails),
      cachedAudioTokens: countOf('AUDIO', counts.cacheTokensDetails),
      inputImageTokens:
        countOf('IMAGE', counts.promptTokensDetails) + countOf('IMAGE', counts.toolUsePromptTokensDetails),
      outputAudioTokens: countOf('AUDIO', counts.candidatesTokensDetails),
      outputImageTokens: countOf('IMAGE', counts.candidatesTokensDetails),
      webSearches: searches,
    }),
    ...(total === undefined ? undefined : { totalTokens: total }),
  });
}

/** Kinds of traffic of Vertex, which has no `serviceTier`. Source: https://docs.litellm.ai/docs/tutorials/vertex_ai_pay_go */
const trafficTiers: ReadonlyMap<unknown, string> = new Map([
  ['ON_DEMAND', 'default'],
  ['ON_DEMAND_PRIORITY', 'priority'],
  ['ON_DEMAND_FLEX', 'flex'],
  ['FLEX', 'flex'],
]);

/** Reads the used tier in the terms of the interface. @returns undefined if it was not reported */
export function readTier(counts: Record<string, unknown> | undefined): string | undefined {
  const { serviceTier, trafficType } = counts ?? {};
  if (typeof serviceTier !== 'string') return trafficTiers.get(trafficType);
  const tier = serviceTier.toLowerCase();
  if (tier === 'standard') return 'default';
  return tier === 'flex' || tier === 'priority' ? tier : undefined;
}

/** Sums a list like `[{ modality: 'AUDIO', tokenCount: 12 }]`. */
function countOf(modality: string, details: unknown): number {
  let sum = 0;
  for (const each of Array.isArray(details) ? (details as (Record<string, unknown> | null)[]) : []) {
    if (each?.modality === modality) sum += count(each.tokenCount);
  }
  return sum;
}

const count = (value: unknown): number => readCount(value) ?? 0;

const filtered = new Set([
  'SAFETY',
  'RECITATION',
  'LANGUAGE',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'IMAGE_SAFETY',
  'IMAGE_PROHIBITED_CONTENT',
  'IMAGE_RECITATION',
]);
/** Reasons of an unusable output, and whether the same request may end otherwise. */
const broken: ReadonlyMap<string, boolean> = new Map([
  ['MALFORMED_FUNCTION_CALL', true],
  ['UNEXPECTED_TOOL_CALL', true],
  ['MALFORMED_RESPONSE', true],
  ['TOO_MANY_TOOL_CALLS', false],
  ['MISSING_THOUGHT_SIGNATURE', false],
]);

/**
 * @param message the provider's message about the reason
 * @param dropped receives a reason that the interface does not have
 * @throws {GatewayError} `upstream_failed` if the model's output is unusable
 */
export function readFinishReason(reason: string, message: unknown, dropped: Set<string>): FinishReason {
  if (reason === 'STOP') return 'stop';
  if (reason === 'MAX_TOKENS') return 'length';
  if (filtered.has(reason)) return 'content_filter';
  const isChance = broken.get(reason);
  if (isChance !== undefined) {
    const words = typeof message === 'string' ? `: ${message.slice(0, 300)}` : '.';
    throw new GatewayError('upstream_failed', `The model ended with ${reason}${words}`, {
      retryable: true,
      isTransient: isChance,
      providerCode: reason,
    });
  }
  dropped.add(`finishReason (${reason})`);
  return 'stop';
}
