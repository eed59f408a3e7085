/** The stored parts of the input and output of one generation: redacted and truncated. */
export interface ContentRecord {
  /** The generation id (`gen-…`). A content is kept once per id. */
  id: string;
  workspaceId: string;
  /** Unix milliseconds. The retention starts here. */
  createdAtMs: number;
  /** JSON: `{ instructions?, items, tools? }`. */
  input: string;
  /** JSON: a list of output items. */
  output: string;
  /** JSON: `{ code, error_type, message? }`. Null: there was no error. */
  error: string | null;
  /** Whether something exceeded the size limit. */
  isCut: boolean;
}

/** The parts of a content that are texts. */
export type ContentParts = Pick<ContentRecord, 'input' | 'output' | 'error' | 'isCut'>;

/**
 * The kinds of content that may be kept as text. Everything else is described by its kind and size only. `messages`:
 * the text of both sides. `instructions`: those of the request, and system and developer messages. `tool_calls`: names
 * and arguments. `errors`: the text of a failure, which may quote the rest.
 */
export const contentKinds = [
  'messages',
  'instructions',
  'tool_calls',
  'tool_results',
  'reasoning_summary',
  'reasoning_text',
  'errors',
] as const;
export type ContentKind = (typeof contentKinds)[number];
