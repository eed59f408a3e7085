import type { NativeRequest } from './native.ts';
import type { Word } from './word.ts';
import type { CacheControl, InputItem, ReasoningEffort, Tool, ToolChoice } from './items.ts';

/**
 * A checked `POST /responses` body. It keeps the wire names, because most of it is passed on. Two fields are
 * normalized: `input` is always a list, and `service_tier` is never `fast` (it is `priority`).
 *
 * @see docs/reference/responses.md#request-body
 */
export interface ResponseRequest extends RequestSettings {
  input: InputItem[];
}

/**
 * Settings that only other APIs than `POST /responses` have. A wire without a place for one of them lists it as dropped.
 *
 * @see docs/reference/chat-completions.md
 */
export interface OtherSettings {
  /** Features of the Messages format that a client of another format named in the header `anthropic-beta`. */
  anthropic_betas?: readonly string[];
  logit_bias?: Record<string, number>;
  /** Whether the response has log probabilities, even without alternatives (`top_logprobs`). */
  logprobs?: boolean;
  min_p?: number;
  /** Fields of the request that exist only in the format of a wire. */
  native?: NativeRequest;
  prediction?: Record<string, unknown>;
  prompt_cache_retention?: string;
  repetition_penalty?: number;
  seed?: number;
  /** Whether the response is a compaction alone: `POST /responses/compact`. Its input ends with the item that requests it. */
  standalone_compaction?: boolean;
  /** Texts that end the output. */
  stop?: string[];
  top_a?: number;
}

/** A request without its input, which a run keeps as a `Conversation`. */
export interface RequestSettings extends OtherSettings {
  model?: string;
  models?: string[];
  instructions?: string | null;
  background?: boolean | null;
  cache_control?: CacheControl;
  debug?: { echo_upstream_body?: boolean };
  frequency_penalty?: number | null;
  image_config?: Record<string, unknown>;
  include?: string[] | null;
  max_output_tokens?: number | null;
  max_tool_calls?: number | null;
  metadata?: Record<string, string> | null;
  modalities?: ('text' | 'image')[];
  parallel_tool_calls?: boolean | null;
  plugins?: PluginSetting[];
  presence_penalty?: number | null;
  prompt?: { id: string; variables?: Record<string, unknown> | null; [field: string]: unknown } | null;
  prompt_cache_key?: string | null;
  prompt_cache_options?: { mode: 'explicit'; ttl?: string | null } | null;
  provider?: Record<string, unknown> | null;
  reasoning?: ReasoningSetting | null;
  safety_identifier?: string | null;
  service_tier?: 'auto' | 'default' | 'flex' | 'priority' | 'scale' | null;
  session_id?: string;
  stop_server_tools_when?: StopCondition | StopCondition[];
  stream?: boolean;
  temperature?: number | null;
  text?: TextSetting;
  tool_choice?: ToolChoice;
  tools?: Tool[];
  top_k?: number;
  top_logprobs?: number | null;
  top_p?: number | null;
  trace?: Record<string, unknown>;
  truncation?: 'auto' | 'disabled' | null;
  user?: string;
}

/** A condition that ends the calls of server tools. @see docs/reference/tools.md#steps */
export type StopCondition =
  | { type: 'step_count_is'; step_count: number }
  | { type: 'has_tool_call'; tool_name: string }
  | { type: 'max_tokens_used'; max_tokens: number }
  | { type: 'max_cost'; max_cost_in_dollars: number }
  | { type: 'finish_reason_is'; reason: string };

export interface PluginSetting {
  id: string;
  enabled?: boolean;
  [field: string]: unknown;
}

/**
 * Finds the setting of a plugin in the request. The last one counts, and `enabled: false` counts as absent.
 *
 * @see docs/reference/choices.md, choice 410
 */
export function findSetting(request: RequestSettings, id: string): PluginSetting | undefined {
  const last = request.plugins?.findLast((setting) => setting.id === id);
  return last?.enabled === false ? undefined : last;
}

/** Whether a request turns a plugin on or off. Undefined: it does not name the plugin. */
export function switchOf({ plugins }: RequestSettings, id: string): boolean | undefined {
  const last = plugins?.findLast((setting) => setting.id === id);
  return last && last.enabled !== false;
}

/** The known words of settings that only hint at the output. Providers add others. */
export const reasoningSummaries = ['auto', 'concise', 'detailed'] as const;
export const reasoningContexts = ['auto', 'all_turns', 'current_turn'] as const;
export const verbosities = ['low', 'medium', 'high', 'xhigh', 'max'] as const;

export interface ReasoningSetting {
  effort?: Word<ReasoningEffort> | null;
  max_tokens?: number | null;
  enabled?: boolean | null;
  summary?: Word<(typeof reasoningSummaries)[number]> | null;
  context?: Word<(typeof reasoningContexts)[number]> | null;
  mode?: 'standard' | 'pro' | null;
}

export interface TextSetting {
  format?:
    | { type: 'text' }
    | { type: 'json_object' }
    | {
        type: 'json_schema';
        name: string;
        schema: Record<string, unknown>;
        description?: string;
        strict?: boolean | null;
      };
  verbosity?: Word<(typeof verbosities)[number]> | null;
}
