/** The format of reasoning items whose opaque fields are sent back to Gemini, in either of its protocols. */
export const signatureFormat = 'google-gemini-v1';

/** Replaces the signature of a call that another model made. Newer models reject a call without one. */
export const noSignature = 'skip_thought_signature_validator';

/** The format of reasoning items whose opaque fields are sent back to Claude, in any protocol. */
export const claudeFormat = 'anthropic-claude-v1';

/** Returns the signature in `extra_content` of a tool call. Vertex has it under its own name. */
export function findThoughtSignature(extra: unknown): string | undefined {
  const { google, vertex } = (extra ?? {}) as Record<string, { thought_signature?: unknown } | null | undefined>;
  const signature = (google ?? vertex)?.thought_signature;
  return typeof signature === 'string' && signature !== '' ? signature : undefined;
}
