const lengthCodes = new Set([
  'context_length_exceeded',
  'max_tokens_exceeded',
  'token_limit_exceeded',
  'string_too_long',
]);

/** Whether an error after output is a normal end by length. choice 67 */
export function isLengthError(error: unknown): boolean {
  const code = (error as { code?: unknown } | null | undefined)?.code; // any shape: `?.` checks it
  return typeof code === 'string' && lengthCodes.has(code);
}
