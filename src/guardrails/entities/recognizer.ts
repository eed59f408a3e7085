/** Entities that need an external analyzer. */
export type RecognizedType = 'PERSON' | 'LOCATION';

/** One finding of an analyzer, in UTF-16 code units of the text. */
export interface RecognizedEntity {
  readonly type: RecognizedType;
  readonly start: number;
  readonly end: number;
}

/**
 * Finds names and places in a text, for the filters `person-name` and `address`.
 *
 * @see docs/reference/guardrails.md#entity-recognition
 */
export interface EntityRecognizer {
  /** Shown in the stages of `router_metadata`, such as `presidio`. */
  readonly engine: string;
  /**
   * @returns the entities in the order of the text
   * @throws {ServiceError} if the analyzer is unavailable or too slow; the reason of the signal
   */
  recognize(text: string, types: readonly RecognizedType[], limits: RecognizerLimits): Promise<RecognizedEntity[]>;
}

export interface RecognizerLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}
