/** The format of reasoning items whose opaque fields are sent back to Gemini, in either of its protocols. */
export const signatureFormat = 'google-gemini-v1';

/** Replaces the signature of a call that another model made. Newer models reject a call without one. */
export const noSignature = 'skip_thought_signature_validator';

/** The format of reasoning items whose opaque fields are sent back to Claude, in any protocol. */
export const claudeFormat = 'anthropic-claude-v1';
