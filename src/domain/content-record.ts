/** What one generation was asked and what it answered, as far as it is kept: redacted and cut to a bound. */
export interface ContentRecord {
  /** The generation id (`gen-…`), under which a content is kept once. */
  id: string;
  workspaceId: string;
  /** Unix milliseconds; the retention counts from here. */
  createdAtMs: number;
  /** JSON: `{ instructions?, items, tools? }`. */
  input: string;
  /** JSON: a list of output items. */
  output: string;
  /** JSON: `{ code, error_type, message? }`; null when nothing went wrong. */
  error: string | null;
  /** Something was longer than the bound. */
  isCut: boolean;
}

/**
 * What may be kept as text; everything else is told by its kind and size alone. `messages`: what either side wrote.
 * `instructions`: those of the request, and messages of system and developer. `tool_calls`: names and arguments.
 * `errors`: the words of a failure, which may quote the rest.
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
