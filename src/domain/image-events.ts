import type { EncodedImage } from './images.ts';
import type { RouterMetadata } from './router-metadata.ts';

/**
 * What the client of an image generation sees, buffered or streamed. Pictures are bytes up to the very end: the writer of
 * the answer alone makes base64 of them, piece by piece.
 *
 * @see docs/reference/images.md#streaming
 */
export type ImageEvent = PartialImageEvent | ImageTextEvent | CompletedImageEvent;

export interface PartialImageEvent {
  type: 'image_generation.partial_image';
  bytes: Buffer;
  partial_image_index: number;
}

export interface ImageTextEvent {
  type: 'image_generation.text_chunk';
  text: string;
  phase: 'content' | 'reasoning' | 'draft';
}

export interface CompletedImageEvent {
  type: 'image_generation.completed';
  image: EncodedImage;
  /** Unix seconds. */
  created: number;
  /** No further picture comes. */
  isLast: boolean;
  /** On the last one alone; absent when nothing is known. */
  usage?: WireImageUsage;
  /** On the last one, when the caller asked for it. */
  routerMetadata?: RouterMetadata;
}

/** `usage` of an image answer. */
export interface WireImageUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  cost: number | null;
  cost_details?: {
    upstream_inference_prompt_cost: number;
    upstream_inference_completions_cost: number;
    upstream_inference_cost: number;
  };
  is_byok: boolean;
  prompt_tokens_details?: { cached_tokens: number };
  completion_tokens_details?: { image_tokens: number };
}
