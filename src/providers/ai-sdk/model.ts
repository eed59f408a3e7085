/*
 * The interface of the AI SDK's language models, as far as we use it: specification version 4.
 * Our own words for it, so that nothing of the SDK is needed to run without it.
 */

export interface LanguageModel {
  specificationVersion: string;
  doStream(options: Record<string, unknown>): PromiseLike<{ stream: ReadableStream<unknown> }>;
}

/** What belongs to one provider alone: package's key → values. Travels untouched. */
export type Metadata = Record<string, unknown>;

export interface StreamPart {
  type?: string;
  id?: string;
  delta?: string;
  providerMetadata?: Metadata;
  [field: string]: unknown;
}
