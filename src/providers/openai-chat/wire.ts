import type { ReasoningDetail } from '../../domain/reasoning-details.ts';
import type { OfferedTools } from '../kit/offered-tools.ts';

/**
 * The shapes of `/chat/completions` that the gateway writes or reads. Types of responses are lenient: every field may
 * be missing, and `chunks.ts` checks each value before it uses it.
 */
export interface ChatMessage {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  content: string | ChatPart[] | null;
  name?: string;
  refusal?: string;
  reasoning_content?: string;
  reasoning?: string;
  reasoning_details?: ReasoningDetail[];
  thinking_blocks?: ThinkingBlock[];
  tool_calls?: ChatToolCall[];
  tool_call_id?: string;
  /** Mistral: the response continues this message. */
  prefix?: true;
  partial?: true;
}

/** A block of thinking of Claude, as LiteLLM has it. https://docs.litellm.ai/docs/reasoning_content */
export type ThinkingBlock =
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'redacted_thinking'; data: string };

export type ChatPart =
  | { type: 'text'; text: string; cache_control?: unknown; prompt_cache_breakpoint?: unknown }
  | { type: 'image_url'; image_url: { url: string; detail?: string } }
  | { type: 'file'; file: { file_data?: string; file_id?: string; filename?: string } }
  | { type: 'input_audio'; input_audio: { data: string; format: string } }
  | { type: 'video_url'; video_url: { url: string } };

export interface ChatToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
  /** Gemini: the signature of the model. */
  extra_content?: { google: { thought_signature: string } };
}

export interface ChatTool {
  type: 'function';
  function: {
    name: string;
    description?: string;
    parameters?: Record<string, unknown>;
    strict?: boolean;
  };
}

export type ChatToolChoice = 'auto' | 'none' | 'required' | { type: 'function'; function: { name: string } };

/** The tools that the reader must translate back. Plain functions are omitted. */
export interface ReaderContext {
  /** Name upstream → the tool that the caller offered. Absent if all tools are plain functions. */
  tools?: OfferedTools;
  /** Whether a text may begin with reasoning between `<think>` and `</think>`. */
  thinkTags?: boolean;
  /** Whether a text begins within the reasoning. */
  thinkOpened?: boolean;
  /** The names of the functions whose calls may be in a text. */
  markedCalls?: ReadonlySet<string>;
}

/** A chunk of a stream, or a buffered response. They differ only in `delta` and `message`. */
export interface ChatResponse {
  choices?: ChatChoice[] | null;
  [field: string]: unknown;
}

export interface ChatChoice {
  index?: number;
  delta?: ChatDelta | null;
  message?: ChatDelta | null;
  [field: string]: unknown;
}

export type ChatDelta = Record<string, unknown>;

/** A tool call, or a piece of one. Some servers omit `index`, `id` or both. Some send the arguments as an object. */
export interface ChatToolCallPiece {
  index?: number | null;
  id?: string | null;
  function?: { name?: string | null; arguments?: unknown } | null;
  [field: string]: unknown;
}
