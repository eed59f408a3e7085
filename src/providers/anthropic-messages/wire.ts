import type { OfferedTools } from '../kit/offered-tools.ts';

/**
 * The shapes of `/messages` that the gateway writes or reads. Types of responses are lenient: every field may be
 * missing, and `chunks.ts` checks each value before it uses it.
 */
export interface Turn {
  role: 'user' | 'assistant' | 'system';
  content: Block[];
}

export type CacheMark = { type: 'ephemeral'; ttl?: '5m' | '1h' };

export type Block = { cache_control?: CacheMark } & (
  | { type: 'text'; text: string }
  | { type: 'image'; source: Source }
  | { type: 'document'; source: Source; title?: string; context?: string }
  | { type: 'thinking'; thinking: string; signature?: string }
  | { type: 'redacted_thinking'; data: string }
  | { type: 'tool_use'; id: string; name: string; input: object }
  | { type: 'tool_result'; tool_use_id: string; content: string | Block[]; is_error?: boolean }
  | { type: 'search_result'; source: string; title: string; content: Block[] }
);

export type Source =
  | { type: 'base64'; media_type: string; data: string }
  | { type: 'text'; media_type: 'text/plain'; data: string }
  | { type: 'url'; url: string }
  | { type: 'file'; file_id: string }
  | { type: 'content'; content: string | Block[] };

/** Facts about the request that the reader needs. */
export interface ReaderContext {
  tools?: OfferedTools;
  /** Thinking is a summary, not raw reasoning. */
  summarizes?: boolean;
  /** The client has the same format, so that it gets every block and field as the provider sent it. */
  keepsBlocks?: boolean;
  /** The server may end a stream without `message_stop`. */
  openEnd?: boolean;
}

/** A block of a response. */
export interface ResponseBlock {
  type?: string;
  [field: string]: unknown;
}

/** A buffered response, or the `message` of `message_start`. */
export interface ResponseMessage {
  model?: unknown;
  content?: unknown;
  stop_reason?: unknown;
  usage?: unknown;
  [field: string]: unknown;
}
