/*
 * The parts of the interface of the AI SDK's language models that we use: specification version 4.
 * The types are our own, so that Headgate runs without the SDK.
 */

export interface LanguageModel {
  specificationVersion: string;
  doStream(options: Record<string, unknown>): PromiseLike<{ stream: ReadableStream<unknown> }>;
}

/** Provider-specific values: package's key → values. Passed on unchanged. */
export type Metadata = Record<string, unknown>;

export interface StreamPart {
  type?: string;
  id?: string;
  delta?: string;
  providerMetadata?: Metadata;
  [field: string]: unknown;
}
