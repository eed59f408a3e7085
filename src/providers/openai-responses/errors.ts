import type { GatewayError } from '../../domain/errors.ts';
import type { UpstreamErrorResponse } from '../wire.ts';
import { readUpstreamError } from '../kit/upstream-error.ts';

/** What a status other than 2xx means: this wire's errors are those of every server that speaks like OpenAI. */
export function readError(response: UpstreamErrorResponse): GatewayError {
  return readUpstreamError(response);
}

const lengthCodes = new Set([
  'context_length_exceeded',
  'max_tokens_exceeded',
  'token_limit_exceeded',
  'string_too_long',
]);

/** Codes that a provider reports as a failure and the interface as a normal end. @see docs/reference/events.md#failures */
export function isLengthError(error: unknown): boolean {
  const code = (error as { code?: unknown } | null | undefined)?.code; // any shape: `?.` alone looks at it
  return typeof code === 'string' && lengthCodes.has(code);
}
