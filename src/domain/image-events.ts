import type { EncodedImage } from './images.ts';
import type { RouterMetadata } from './router-metadata.ts';

/**
 * The events that the client of an image generation receives, buffered or streamed. Images are bytes until the response
 * writer encodes them as base64, piece by piece.
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
  /** No other image follows. */
  isLast: boolean;
  /** Only on the last one. Absent: unknown. */
  usage?: WireImageUsage;
  /** On the last one, if the caller requested it. */
  routerMetadata?: RouterMetadata;
}

/** `usage` of an image response. */
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
  prompt_tokens_details?: { cached_tokens: number; image_tokens?: number };
  completion_tokens_details?: { image_tokens: number };
}
