import { special, type Usage } from '../../domain/usage.ts';

/** Of a generation of images: where the parts of the output are not told apart, all that was not thought is image. */
export function withImageTokens(counts: Usage): Usage {
  if (counts.special?.outputImageTokens !== undefined) return counts;
  const images = special({ ...counts.special, outputImageTokens: counts.outputTokens - counts.reasoningTokens });
  return images ? { ...counts, special: images } : counts;
}
