/** Entities that need an external analyzer. */
export type RecognizedType = 'PERSON' | 'LOCATION';

/** One finding of an analyzer, in UTF-16 code units of the text. */
export interface RecognizedEntity {
  readonly type: RecognizedType;
  readonly start: number;
  readonly end: number;
  /** From 0 to 1. */
  readonly score: number;
}

/**
 * Finds names and places in a text, for the filters `person-name` and `address`.
 *
 * @see docs/reference/guardrails.md#entity-recognition
 */
export interface EntityRecognizer {
  /** Shown in the stages of `router_metadata`, such as `presidio`. */
  readonly engine: string;
  /** Fails if the analyzer is unavailable or too slow. The request then goes on without its findings. */
  recognize(text: string, types: readonly RecognizedType[], signal: AbortSignal): Promise<RecognizedEntity[]>;
}
