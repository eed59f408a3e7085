import type { ImageFacts } from './images.ts';

/**
 * What an endpoint asks. Prices per token are integers of nano-dollars per million tokens: 0.00000025 USD a token is
 * 250_000_000. Prices per piece are nano-dollars.
 */
export interface Pricing extends TokenPrices {
  promptNanoUsdPerMillion: number;
  completionNanoUsdPerMillion: number;
  requestNanoUsd?: number;
  /** Of an image that is read. */
  imageNanoUsd?: number;
  /** Of each search of the web that the provider makes. */
  webSearchNanoUsd?: number;
  /** Of an answer for which it searched the web, however often. */
  searchedRequestNanoUsd?: number;
  /** Other prices beyond a length of the prompt, in tokens, the shortest first; the last that is exceeded counts. */
  above?: readonly ({ promptTokens: number } & Partial<TokenPrices>)[];
}

/** The dearest token, and the dearest piece, that a price may name: what one answer costs then still fits the ledger. */
export const MAX_USD_PER_TOKEN = 1;
export const MAX_USD_PER_PIECE = 10_000;

/** The largest weight of an endpoint. */
export const MAX_WEIGHT = 1_000_000;

export interface TokenPrices {
  promptNanoUsdPerMillion: number;
  completionNanoUsdPerMillion: number;
  /** Absent: cached input costs what other input costs. */
  cacheReadNanoUsdPerMillion?: number;
  /** Kept for five minutes. Absent: as other input. */
  cacheWriteNanoUsdPerMillion?: number;
  /** Absent: as for five minutes. */
  cacheWrite1hNanoUsdPerMillion?: number;
  /** Absent: reasoning costs what other output costs. */
  reasoningNanoUsdPerMillion?: number;
  /** Sound that is read. Absent: as other input. */
  audioNanoUsdPerMillion?: number;
  /** Sound that is read from the cache. Absent: as other cached input. */
  audioCacheReadNanoUsdPerMillion?: number;
  /** Sound that is made. Absent: as other output. */
  audioOutputNanoUsdPerMillion?: number;
  /** Pictures that are read, counted in tokens. Absent: as other input. */
  imageTokenNanoUsdPerMillion?: number;
  /** Pictures that are made, counted in tokens. Absent: as other output. */
  imageOutputNanoUsdPerMillion?: number;
}

/** What an endpoint can do; undefined means that nobody said. */
export interface Capabilities {
  tools?: boolean;
  structuredOutputs?: boolean;
  reasoning?: boolean;
  input?: readonly string[];
  output?: readonly string[];
}

/** Endpoints of these tiers have prices of their own. @see docs/reference/routing.md#service-tiers */
export type Tier = 'default' | 'flex' | 'priority';

export const quantizations = [
  ...['int4', 'int8', 'fp4', 'mxfp4', 'nvfp4', 'fp6', 'fp8', 'mxfp8', 'fp16', 'bf16', 'fp32', 'unknown'],
] as const;

/** Names of `supported_parameters`. @see docs/reference/models.md#endpoints */
export const parameterNames = [
  ...['temperature', 'top_p', 'top_k', 'min_p', 'top_a', 'frequency_penalty', 'presence_penalty', 'repetition_penalty'],
  ...['max_tokens', 'max_completion_tokens', 'logit_bias', 'logprobs', 'top_logprobs', 'prediction', 'seed'],
  ...['response_format', 'structured_outputs', 'stop', 'tools', 'tool_choice', 'parallel_tool_calls'],
  ...['include_reasoning', 'reasoning', 'reasoning_effort', 'web_search_options', 'verbosity'],
] as const;
/** @see docs/reference/models.md */
export const inputModalities = ['text', 'image', 'file', 'audio', 'video'] as const;
/** @see docs/reference/models.md */
export const outputModalities = [
  ...['text', 'image', 'embeddings', 'audio', 'video', 'rerank', 'decisions', 'speech', 'transcription'],
] as const;

/** All that routing knows of an endpoint; undefined means that nobody said. @see docs/reference/models.md#endpoints */
export interface EndpointFacts {
  /** Unique among the endpoints of this process, the same after a restart: what health and sticky memory are kept under. */
  readonly id: string;
  /** The slug at the gateway. */
  readonly model: string;
  readonly provider: { readonly id: string; readonly name: string };
  /** What `provider.order`, `only` and `ignore` match: `openai`, `openai/flex`, `google-vertex/us-east5`. */
  readonly tag: string;
  /** Undefined: the tier that was asked for is passed on as it is. */
  readonly tier: Tier | undefined;
  readonly pricing: Pricing | undefined;
  /** Prices of other tiers of this model at this provider, for an answer that says it was served in one. */
  readonly tierPricing?: ReadonlyMap<string, Pricing> | undefined;
  /** Tokens, input and output. */
  readonly contextLength: number | undefined;
  readonly maxOutputTokens: number | undefined;
  readonly maxPromptTokens: number | undefined;
  readonly quantization: string | undefined;
  /** Names of `supported_parameters`, all of them. */
  readonly parameters: ReadonlySet<string> | undefined;
  readonly capabilities: Capabilities;
  /** Of the model. */
  readonly reasoning: ModelReasoning | undefined;
  /** Undefined: it makes no pictures for `POST /images`. */
  readonly image: ImageFacts | undefined;
  /** False: pictures are all it makes. */
  readonly generatesText: boolean;
  /** Does the provider keep, or learn from, what it is sent? Unknown counts as yes. */
  readonly retainsData: boolean | undefined;
  readonly trainsOnData: boolean | undefined;
  /** Does the author of the model allow that others learn from what it says? */
  readonly distillable: boolean | undefined;
  /** An own key: only this workspace may use it. */
  readonly workspace: string | undefined;
  /** Of an own key: used after the shared endpoints, not before. */
  readonly isFallbackKey: boolean;
  /** Its share beside the other endpoints of its model, 1 unless the operator sets it; 0: a fallback only. */
  readonly weight: number;
  /** Whether its wire carries that. Absent: nobody knows. */
  readonly carries?: (special: Special) => boolean;
  /** It serves requests that name its model, but is in no list and no router chooses it. */
  readonly isUnlisted?: true;
}

/** A kind of tool, item or content part that some protocols have a place for and others do not. */
export interface Special {
  what: 'tool' | 'item' | 'part';
  type: string;
}

/** A model of the catalog. Dates are `YYYY-MM-DD`. @see docs/reference/models.md */
export interface Model {
  readonly id: string;
  /** Dated, for good; accepted in requests like the id. */
  readonly canonicalSlug: string;
  readonly name: string;
  readonly description?: string;
  /** Unix seconds. */
  readonly created: number;
  readonly contextLength: number | undefined;
  readonly maxOutputTokens: number | undefined;
  readonly input: readonly string[];
  readonly output: readonly string[];
  readonly parameters: readonly string[];
  readonly reasoning?: ModelReasoning;
  readonly knowledgeCutoff?: string;
  readonly expirationDate?: string;
  readonly huggingFaceId?: string;
  readonly distillable?: boolean;
  /** Solved share of a public coding benchmark as a percentile of the models that were measured, 0 to 100. */
  readonly codingScore?: number;
  /** A program that stands in for a model: routers choose it only where there is nothing else. */
  readonly simulated?: boolean;
  /** Not listed and no target of an alias. */
  readonly hidden?: boolean;
}

export interface ModelReasoning {
  /** Cannot be turned off. */
  readonly mandatory?: boolean;
  readonly default_enabled?: boolean;
  readonly default_effort?: string;
  readonly supported_efforts?: readonly string[];
  readonly supports_max_tokens?: boolean;
}
