import type { EmbeddingFacts } from './embeddings.ts';
import type { ImageFacts } from './images.ts';
import type { RerankFacts } from './rerank.ts';

/**
 * The prices of an endpoint. Prices per token are integers of nano-dollars per million tokens: 0.00000025 USD per token
 * is 250_000_000. Prices per piece are nano-dollars.
 */
export interface Pricing extends TokenPrices {
  promptNanoUsdPerMillion: number;
  completionNanoUsdPerMillion: number;
  requestNanoUsd?: number;
  /** For an image in the input. */
  imageNanoUsd?: number;
  /** For each web search of the provider, and each search unit of a rerank. */
  webSearchNanoUsd?: number;
  /** For a response that searched the web, regardless of how often. */
  searchedRequestNanoUsd?: number;
  /**
   * Other prices beyond a length of the prompt in tokens, in ascending order. The last one that is exceeded applies.
   */
  above?: readonly ({ promptTokens: number } & Partial<TokenPrices>)[];
}

/** The highest price of a token, and of a piece. The cost of one response then still fits into the ledger. */
export const MAX_USD_PER_TOKEN = 1;
export const MAX_USD_PER_PIECE = 10_000;

/** The largest weight of an endpoint. */
export const MAX_WEIGHT = 1_000_000;

export interface TokenPrices {
  promptNanoUsdPerMillion: number;
  completionNanoUsdPerMillion: number;
  /** Absent: cached input has the price of other input. */
  cacheReadNanoUsdPerMillion?: number;
  /** Kept for five minutes. Absent: the price of other input. */
  cacheWriteNanoUsdPerMillion?: number;
  /** Kept for an hour. Absent: the price for five minutes. */
  cacheWrite1hNanoUsdPerMillion?: number;
  /** Absent: reasoning has the price of other output. */
  reasoningNanoUsdPerMillion?: number;
  /** Audio input. Absent: the price of other input. */
  audioNanoUsdPerMillion?: number;
  /** Audio input from the cache. Absent: the price of other cached input. */
  audioCacheReadNanoUsdPerMillion?: number;
  /** Audio output. Absent: the price of other output. */
  audioOutputNanoUsdPerMillion?: number;
  /** Image input, counted in tokens. Absent: the price of other input. */
  imageTokenNanoUsdPerMillion?: number;
  /** Image output, counted in tokens. Absent: the price of other output. */
  imageOutputNanoUsdPerMillion?: number;
}

/** The capabilities of an endpoint. Undefined: unknown. */
export interface Capabilities {
  tools?: boolean;
  structuredOutputs?: boolean;
  reasoning?: boolean;
  input?: readonly string[];
  output?: readonly string[];
}

/** Endpoints of these tiers have their own prices. @see docs/reference/routing.md#service-tiers */
export type Tier = 'default' | 'flex' | 'priority';

export const quantizations = [
  'int4',
  'int8',
  'fp4',
  'mxfp4',
  'nvfp4',
  'fp6',
  'fp8',
  'mxfp8',
  'fp16',
  'bf16',
  'fp32',
  'unknown',
] as const;

/** Names of `supported_parameters`. @see docs/reference/models.md#endpoints */
export const parameterNames = [
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'top_a',
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'max_tokens',
  'max_completion_tokens',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'prediction',
  'seed',
  'response_format',
  'structured_outputs',
  'stop',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'include_reasoning',
  'reasoning',
  'reasoning_effort',
  'web_search_options',
  'verbosity',
] as const;
/** @see docs/reference/models.md */
export const inputModalities = ['text', 'image', 'file', 'audio', 'video'] as const;
/** @see docs/reference/models.md */
export const outputModalities = [
  'text',
  'image',
  'embeddings',
  'audio',
  'video',
  'rerank',
  'decisions',
  'speech',
  'transcription',
] as const;

/** Everything that routing knows about an endpoint. Undefined: unknown. @see docs/reference/models.md#endpoints */
export interface EndpointFacts {
  /**
   * Unique among the endpoints of this process, and the same after a restart. Health and sticky memory use it as their
   * key.
   */
  readonly id: string;
  /** The slug at the gateway. */
  readonly model: string;
  readonly provider: { readonly id: string; readonly name: string };
  /** The name that `provider.order`, `only` and `ignore` match: `openai`, `openai/flex`, `google-vertex/us-east5`. */
  readonly tag: string;
  /** Undefined: the tier of the request is passed on unchanged. */
  readonly tier: Tier | undefined;
  readonly pricing: Pricing | undefined;
  /** Prices of other tiers of this model at this provider, for a response that reports one of them. */
  readonly tierPricing?: ReadonlyMap<string, Pricing> | undefined;
  /** Tokens, input and output. */
  readonly contextLength: number | undefined;
  readonly maxOutputTokens: number | undefined;
  readonly maxPromptTokens: number | undefined;
  /** Maximum number of messages. Absent: unknown, or none. */
  readonly maxMessages?: number | undefined;
  readonly quantization: string | undefined;
  /** Names of `supported_parameters`, all of them. */
  readonly parameters: ReadonlySet<string> | undefined;
  readonly capabilities: Capabilities;
  /** Reasoning capabilities of the model. */
  readonly reasoning: ModelReasoning | undefined;
  /** Undefined: it generates no images for `POST /images`. */
  readonly image: ImageFacts | undefined;
  /** Absent: it makes no embeddings for `POST /embeddings`. */
  readonly embedding?: EmbeddingFacts | undefined;
  /** Absent: it reranks nothing for `POST /rerank`. */
  readonly rerank?: RerankFacts | undefined;
  /** False: it generates no text. */
  readonly generatesText: boolean;
  /** Whether the provider keeps its input or trains on it. Unknown counts as yes. */
  readonly retainsData: boolean | undefined;
  readonly trainsOnData: boolean | undefined;
  /** Whether its provider demands that its input is moderated before. Absent: no. */
  readonly isModerated?: boolean | undefined;
  /** Whether the author of the model allows others to train on its output. */
  readonly distillable: boolean | undefined;
  /** The workspace of a BYOK key. No other workspace may use it. */
  readonly workspace: string | undefined;
  /** Whether a BYOK key is used after the shared endpoints instead of before them. */
  readonly isFallbackKey: boolean;
  /** Its share relative to the other endpoints of its model, 1 unless the operator sets it. 0: a fallback only. */
  readonly weight: number;
  /** Whether its wire carries a kind of tool, item or part. Absent: unknown. */
  readonly carries?: (special: Special) => boolean;
  /** Whether it is hidden: it serves requests that name its model, but no list contains it and no router chooses it. */
  readonly isUnlisted?: true;
}

/**
 * A kind of tool, item or content part that only some protocols have. `native_search`: a web search of the
 * provider with the domain filter `none`, `include` or `exclude`. `hosted_shell`: the provider runs the commands of its
 * tool `shell`.
 */
export interface Special {
  what: 'tool' | 'item' | 'part' | 'native_search' | 'hosted_shell';
  type: string;
}

/** A model of the catalog. Dates are `YYYY-MM-DD`. @see docs/reference/models.md */
export interface Model {
  readonly id: string;
  /** Has a date and never changes. Requests may use it like the id. */
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
  /** The result of a public coding benchmark, as a percentile of all measured models, 0 to 100. */
  readonly codingScore?: number;
  /** A program that imitates a model. Routers choose it only if there is nothing else. */
  readonly simulated?: boolean;
  /** Not listed, and not the target of an alias. */
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
