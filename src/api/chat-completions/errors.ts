import type { ResponseObject } from '../../domain/response.ts';
import { type OpenAIFailure, writeOpenAIFailure } from '../openai-errors.ts';
import { renameError } from '../serve-text.ts';
import type { ChatFacts } from './chat-facts.ts';

/** Writes the failure of a response that had begun. */
export function writeChatFailure(
  response: ResponseObject,
  { findError, rename, readsNumbers }: Pick<ChatFacts, 'findError' | 'rename' | 'readsNumbers'>,
): { error: OpenAIFailure } {
  const error = findError();
  if (error) return { error: writeOpenAIFailure(renameError(error, rename), readsNumbers) };
  const message = rename(response.error?.message ?? 'The response was interrupted.');
  const type = response.error_type ?? 'server';
  return { error: { code: readsNumbers ? 500 : type, message, type, param: null, metadata: {} } };
}
