import type { EmbeddingRequest } from '../../domain/embeddings.ts';
import type { ImageRequest } from '../../domain/images.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import type { RerankRequest } from '../../domain/rerank.ts';
import { ImageNeeds } from '../../routing/image-needs.ts';
import { Needs } from '../../routing/needs.ts';
import { EmbeddingNeeds, RerankNeeds } from '../../routing/retrieval-needs.ts';

/** Output tokens if the request sets no limit, and those of each image. */
export const USUAL_OUTPUT_TOKENS = 4096;

/** Estimates what a request may use of a limit of tokens: its whole input, and as much output as it allows. */
export function estimateResponseTokens(request: ResponseRequest): number {
  const needs = new Needs(request);
  return needs.requiredTokens + (needs.maxOutputTokens === undefined ? USUAL_OUTPUT_TOKENS : 0);
}

/** Estimates the same of an image generation. */
export const estimateImageTokens = (request: ImageRequest): number =>
  Math.ceil(new ImageNeeds(request).inputTokens) + USUAL_OUTPUT_TOKENS * (request.n ?? 1);

/** Estimates the same of embeddings. */
export const estimateEmbeddingTokens = (request: EmbeddingRequest): number =>
  Math.ceil(new EmbeddingNeeds(request).inputTokens);

/** Estimates the same of a rerank. */
export const estimateRerankTokens = (request: RerankRequest): number => Math.ceil(new RerankNeeds(request).inputTokens);
