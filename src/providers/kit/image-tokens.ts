import { special, type Usage } from '../../domain/usage.ts';

/**
 * Returns the image tokens of a generation. If the provider does not report them separately, all output except
 * reasoning counts.
 */
export function withImageTokens(counts: Usage): Usage {
  if (counts.special?.outputImageTokens !== undefined) return counts;
  const images = special({ ...counts.special, outputImageTokens: counts.outputTokens - counts.reasoningTokens });
  return images ? { ...counts, special: images } : counts;
}
