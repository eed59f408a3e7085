import type { WireUsage } from '../../domain/usage.ts';

type Fields = Readonly<Record<string, unknown>>;

const count = (value: unknown): number => (typeof value === 'number' ? value : 0);

/**
 * Writes the usage of a response in the terms of the format: thoughts are beside the candidates, and the cached tokens
 * are a part of the prompt.
 *
 * @param native the counts of the provider, if it has the same format
 * @see docs/reference/gemini.md#usage
 */
export function writeGeminiUsage(
  usage: WireUsage | null,
  native: Fields | undefined,
): Record<string, unknown> | undefined {
  if (!usage) return undefined;
  const { input_tokens: input, output_tokens: output, cost, cost_details: details, is_byok: isByok } = usage;
  const thoughts = usage.output_tokens_details.reasoning_tokens;
  const cached = usage.input_tokens_details.cached_tokens;
  const charge = { cost, ...(details && { cost_details: details }), is_byok: isByok };
  // The counts of several steps, and those of the gateway, are other ones.
  if (native && count(native['promptTokenCount']) + count(native['toolUsePromptTokenCount']) === input) {
    return { ...native, ...charge };
  }
  return {
    promptTokenCount: input,
    candidatesTokenCount: Math.max(0, output - thoughts),
    ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
    ...(cached > 0 && { cachedContentTokenCount: cached }),
    totalTokenCount: input + output,
    ...charge,
  };
}
