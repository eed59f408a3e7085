/*
 * Types for the `openai` client, published as `headgate/types`. Importing this module adds the fields that only the
 * gateway has to the client's own types. It has no run-time code.
 *
 * @see docs/guides/clients.md#typescript
 */
import type {} from 'openai/resources/chat/completions/completions';
import type {} from 'openai/resources/completions';
import type {} from 'openai/resources/embeddings';
import type {} from 'openai/resources/responses/responses';
import type {} from 'openai/resources/shared';

/** The preferences for endpoints. @see docs/guides/routing.md */
export interface ProviderPreferences {
  /** Provider ids or endpoint tags, in order of preference. */
  order?: string[] | null;
  only?: string[] | null;
  ignore?: string[] | null;
  allow_fallbacks?: boolean | null;
  require_parameters?: boolean | null;
  data_collection?: 'allow' | 'deny' | null;
  zdr?: boolean | null;
  enforce_distillable_text?: boolean | null;
  quantizations?: string[] | null;
  sort?: ProviderSort | { by?: ProviderSort | null; partition?: 'model' | 'none' | null } | null;
  /** USD per million tokens; `request` and `image` in USD each. */
  max_price?: Partial<Record<'prompt' | 'completion' | 'request' | 'image' | 'audio', number | string>> | null;
  /** Seconds until the first output. */
  preferred_max_latency?: Cutoffs | null;
  /** Tokens per second. */
  preferred_min_throughput?: Cutoffs | null;
}

export type ProviderSort = 'price' | 'throughput' | 'latency' | 'exacto';

/** One number for all percentiles, or one for each. */
export type Cutoffs = number | Partial<Record<'p50' | 'p75' | 'p90' | 'p99', number | null>>;

/** An entry of `plugins`, such as `{ id: 'response-healing' }`. @see docs/guides/routing.md */
export interface PluginSetting {
  id: string;
  enabled?: boolean;
  [field: string]: unknown;
}

/** The trace context of a request. @see docs/guides/observability.md */
export interface TraceContext {
  trace_id?: string;
  trace_name?: string;
  span_name?: string;
  generation_name?: string;
  parent_span_id?: string;
}

export interface CacheControl {
  type: 'ephemeral';
  ttl?: '5m' | '1h';
}

/** A condition that ends the loop of server tools. */
export type StopCondition =
  | { type: 'step_count_is'; step_count: number }
  | { type: 'has_tool_call'; tool_name: string }
  | { type: 'max_tokens_used'; max_tokens: number }
  | { type: 'max_cost'; max_cost_in_dollars: number }
  | { type: 'finish_reason_is'; reason: string };

/** Fields that every format of requests has, and the clients' types lack. */
export interface GatewayRoutingFields {
  /** Fallback models, in order. */
  models?: string[];
  provider?: ProviderPreferences | null;
  plugins?: PluginSetting[];
  /** The slug of a preset, whose settings are merged into the request. @see docs/reference/presets.md */
  preset?: string | null;
  /** Ends the loop of server tools early. @see docs/reference/responses.md#stop-conditions */
  stop_server_tools_when?: StopCondition | StopCondition[];
  /** Requests of one session keep their provider and its cache. At most 256 characters. */
  session_id?: string;
  trace?: TraceContext;
  image_config?: Record<string, string | number | unknown[]>;
  /** Returns the body that was sent to the provider. */
  debug?: { echo_upstream_body?: boolean };
}

/** Fields of `POST /responses` that the client's types lack. */
export interface GatewayRequestFields extends GatewayRoutingFields {
  top_k?: number;
  frequency_penalty?: number | null;
  presence_penalty?: number | null;
  modalities?: ('text' | 'image')[];
  cache_control?: CacheControl;
}

/**
 * Fields of `POST /chat/completions` that the client's types lack. `modalities: ['text', 'image']` needs a cast: the client
 * declares the field without images.
 */
export interface GatewayChatFields extends GatewayRoutingFields {
  cache_control?: CacheControl | null;
  include_reasoning?: boolean | null;
  max_tool_calls?: number | null;
  min_p?: number | null;
  reasoning?: {
    effort?: 'max' | 'xhigh' | 'high' | 'medium' | 'low' | 'minimal' | 'none' | (string & {}) | null;
    max_tokens?: number | null;
    enabled?: boolean | null;
    /** Whether the response leaves the reasoning out. */
    exclude?: boolean | null;
    summary?: 'auto' | 'concise' | 'detailed' | (string & {}) | null;
  } | null;
  repetition_penalty?: number | null;
  top_a?: number | null;
  top_k?: number | null;
  transforms?: 'middle-out'[] | null;
  /** As `stream_options.include_usage`. */
  usage?: { include?: boolean | null } | null;
}

/** A block of reasoning. Send the blocks back unchanged. @see docs/reference/chat-completions.md#reasoning */
export interface ReasoningBlock {
  type: string;
  [field: string]: unknown;
}

/** Fields of a message, and of the delta of a chunk, that the client's types lack. */
export interface GatewayMessageFields {
  reasoning?: string;
  reasoning_details?: ReasoningBlock[];
  images?: object[];
}

/** Fields of `POST /embeddings` that the client's types lack. */
export interface GatewayEmbeddingFields
  extends Pick<GatewayRoutingFields, 'models' | 'provider' | 'session_id' | 'trace'> {
  input_type?:
    | ('search_query' | 'search_document' | 'classification' | 'clustering' | 'semantic_similarity')
    | ('question_answering' | 'fact_verification' | 'code_retrieval_query' | 'query' | 'document' | 'passage')
    | null;
}

/** The route of the request. Present if the request has the header `X-Router-Metadata: enabled`. */
export interface RouterMetadata {
  requested: string;
  strategy: string;
  region: string;
  summary: string;
  attempt: number;
  is_byok: boolean;
  endpoints: { total: number; available: { provider: string; model: string; selected: boolean }[] };
  /** All attempts. `message` explains a failure. */
  attempts?: { provider: string; model: string; status: number; message?: string }[];
  params?: Record<string, unknown>;
  pipeline?: { type: string; name: string; summary?: string; data?: Record<string, unknown> }[];
  generation_time?: number;
}

/** Fields of the response that the client's types lack. */
export interface GatewayResponseFields {
  router_metadata?: RouterMetadata;
  /** The detailed kind of `error`. @see docs/reference/errors.md */
  error_type?: string;
}

/** Fields of `usage` that the client's types lack. */
export interface GatewayUsageFields {
  /** USD. Null if no price is known. */
  cost?: number | null;
  /** USD. */
  cost_details?: {
    upstream_inference_input_cost: number;
    upstream_inference_output_cost: number;
    upstream_inference_cost?: number;
    server_tool_cost?: number;
  };
  is_byok?: boolean;
  server_tool_use_details?: {
    /** Calls of server tools that the model made. Absent: there were none. */
    tool_calls_requested?: number;
    /** The calls that ran and gave a result. */
    tool_calls_executed?: number;
    /** Searches, those of the provider included. */
    web_search_requests: number;
  };
  /** The older place of the number of searches. */
  server_tool_use?: { web_search_requests: number };
}

declare module 'openai/resources/responses/responses' {
  interface ResponseCreateParamsBase extends GatewayRequestFields {}
  interface Response extends GatewayResponseFields {}
  interface ResponseUsage extends GatewayUsageFields {}
  interface ResponseInputText {
    cache_control?: CacheControl;
  }
  interface ResponseInputImage {
    cache_control?: CacheControl;
  }
  interface ResponseInputFile {
    cache_control?: CacheControl;
  }
  interface FunctionTool {
    cache_control?: CacheControl | null;
  }
}

declare module 'openai/resources/shared' {
  interface Reasoning {
    /** Instead of `effort`. */
    max_tokens?: number | null;
    enabled?: boolean | null;
  }
}

declare module 'openai/resources/chat/completions/completions' {
  interface ChatCompletionCreateParamsBase extends GatewayChatFields {}
  interface ChatCompletion extends Pick<GatewayResponseFields, 'router_metadata'> {
    /** The name of the provider. */
    provider?: string;
  }
  interface ChatCompletionChunk extends Pick<GatewayResponseFields, 'router_metadata'> {
    provider?: string;
  }
  interface ChatCompletionMessage extends GatewayMessageFields {}
  interface ChatCompletionAssistantMessageParam extends GatewayMessageFields {}
  interface ChatCompletionContentPartText {
    cache_control?: CacheControl;
  }
  interface ChatCompletionContentPartImage {
    cache_control?: CacheControl;
  }
  interface ChatCompletionFunctionTool {
    cache_control?: CacheControl | null;
  }
  namespace ChatCompletion {
    interface Choice {
      native_finish_reason?: string | null;
    }
  }
  namespace ChatCompletionChunk {
    interface Choice {
      native_finish_reason?: string | null;
    }
    namespace Choice {
      interface Delta extends GatewayMessageFields {}
    }
  }
}

declare module 'openai/resources/completions' {
  interface CompletionUsage extends GatewayUsageFields {}
}

declare module 'openai/resources/embeddings' {
  interface EmbeddingCreateParams extends GatewayEmbeddingFields {}
  interface CreateEmbeddingResponse extends Pick<GatewayResponseFields, 'router_metadata'> {
    id?: string;
    provider?: string;
  }
  namespace CreateEmbeddingResponse {
    interface Usage extends Pick<GatewayUsageFields, 'cost' | 'is_byok'> {}
  }
}
