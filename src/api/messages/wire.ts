/**
 * The shapes of the Messages API that the gateway writes.
 *
 * @see docs/reference/messages.md#response
 */
export type MessageEvent =
  | { type: 'message_start'; message: FoldedMessage }
  | BlockEvent
  | { type: 'message_delta'; delta: MessageChange; usage: MessageUsage; [field: string]: unknown }
  | { type: 'message_stop'; [field: string]: unknown }
  | { type: 'error'; error: WireError; request_id: string; [field: string]: unknown }
  | { type: 'debug'; debug: unknown };

export type BlockEvent =
  | { type: 'content_block_start'; index: number; content_block: ContentBlock }
  | { type: 'content_block_delta'; index: number; delta: BlockDelta }
  | { type: 'content_block_stop'; index: number };

export interface WireError {
  type: string;
  message: string;
  [field: string]: unknown;
}

export interface ContentBlock {
  type: string;
  [field: string]: unknown;
}

export type BlockDelta =
  | { type: 'text_delta'; text: string }
  | { type: 'input_json_delta'; partial_json: string }
  | { type: 'thinking_delta'; thinking: string }
  | { type: 'signature_delta'; signature: string }
  | { type: 'citations_delta'; citation: Record<string, unknown> };

export interface FoldedMessage {
  id: string;
  type: 'message';
  role: 'assistant';
  model: string;
  content: ContentBlock[];
  stop_reason: string | null;
  stop_sequence: string | null;
  usage: MessageUsage;
  [field: string]: unknown;
}

/** The end of a message. */
export interface MessageChange {
  stop_reason: string | null;
  stop_sequence: string | null;
  [field: string]: unknown;
}

export interface MessageUsage {
  /** Without those that the cache served or stored. */
  input_tokens: number;
  cache_creation_input_tokens: number;
  cache_read_input_tokens: number;
  output_tokens: number;
  [field: string]: unknown;
}
