import { IMAGE as TOKENS_OF_IMAGE } from './estimate-media.ts';
import { estimateTextTokens } from './estimate-tokens.ts';
import type { Usage } from './usage.ts';

/**
 * A checked `POST /embeddings` body.
 *
 * @see docs/reference/embeddings.md#request-body
 */
export interface EmbeddingRequest {
  model?: string;
  /** Other names of the same model only. */
  models?: string[];
  input: EmbeddingInputs;
  format: VectorFormat;
  dimensions?: number;
  inputType?: EmbeddingInputType;
  provider?: Record<string, unknown>;
  session_id?: string;
  trace?: Record<string, unknown>;
  user?: string;
}

/** All inputs of a request, which are of one kind. Each gives one vector. */
export type EmbeddingInputs =
  | { readonly kind: 'text'; readonly items: readonly string[] }
  /** Ids of a tokenizer that the caller and the model share. */
  | { readonly kind: 'tokens'; readonly items: readonly (readonly number[])[] }
  | { readonly kind: 'parts'; readonly items: readonly (readonly EmbeddingPart[])[] };

export type EmbeddingPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } };

export const vectorFormats = ['float', 'base64'] as const;
/** JSON numbers, or the base64 of little-endian 32-bit floats. */
export type VectorFormat = (typeof vectorFormats)[number];

/** The purposes of a vector, in the words of the interface. Each wire has its own words for them. */
export const embeddingInputTypes = [
  'search_query',
  'search_document',
  'classification',
  'clustering',
  'semantic_similarity',
  'question_answering',
  'fact_verification',
  'code_retrieval_query',
] as const;
export type EmbeddingInputType = (typeof embeddingInputTypes)[number];

/** The capabilities of an endpoint that makes embeddings. */
export interface EmbeddingFacts {
  /** Maximum number of inputs of one call. Longer lists are split. */
  readonly maxBatch: number;
  /** Maximum tokens of one call. Undefined: unknown, or no limit. */
  readonly maxTokens?: number;
  readonly takesTokens: boolean;
  readonly takesImages: boolean;
}

/** A part of a request that one call of a provider carries. */
export interface EmbeddingCall {
  readonly input: EmbeddingInputs;
  /** The preferred format. A wire without it returns the other one. */
  readonly format: VectorFormat;
  readonly dimensions: number | undefined;
  readonly inputType: EmbeddingInputType | undefined;
  /** The input type in the words of a server that needs one. */
  readonly neededType?: 'query' | 'passage';
}

/** A vector as JSON text: the numbers with their brackets, or base64 without quotes. */
export interface Vector {
  readonly format: VectorFormat;
  readonly bytes: Buffer;
  /** Number of dimensions. */
  readonly length: number;
}

/** The response to one call, or to all calls of an attempt. */
export interface EmbeddingFinish {
  type: 'finish';
  /** One for each input, in the same order. */
  vectors: readonly Vector[];
  /** The model that the provider reports. */
  model?: string | undefined;
  /** Undefined: the provider did not report it. */
  usage?: Usage | undefined;
}

/** Estimated tokens of each input. Token ids are exact. */
export function estimateInputs(input: EmbeddingInputs): readonly number[] {
  const known = estimates.get(input);
  if (known) return known;
  const counts = countInputs(input);
  estimates.set(input, counts);
  return counts;
}

/** Planning, reserving and splitting read the same input, which is never changed in place. */
const estimates = new WeakMap<EmbeddingInputs, readonly number[]>();

function countInputs(input: EmbeddingInputs): readonly number[] {
  switch (input.kind) {
    case 'text':
      return input.items.map(estimateTextTokens);
    case 'tokens':
      return input.items.map(({ length }) => length);
    case 'parts':
      return input.items.map((parts) => parts.reduce((sum, part) => sum + estimatePart(part), 0));
  }
}

const estimatePart = (part: EmbeddingPart): number =>
  part.type === 'text' ? estimateTextTokens(part.text) : TOKENS_OF_IMAGE;

/** Returns a part of the inputs. */
export function sliceInputs(input: EmbeddingInputs, start: number, end: number): EmbeddingInputs {
  if (start === 0 && end >= input.items.length) return input;
  return { kind: input.kind, items: input.items.slice(start, end) } as EmbeddingInputs; // items of the same kind
}
