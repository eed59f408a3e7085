import { asGatewayError, type GatewayError, type Issue } from '../../domain/errors.ts';
import type { ResponseObject } from '../../domain/response.ts';
import type { ErrorDialect } from '../../http/error-dialect.ts';
import { writeErrorEnvelope } from '../../http/error-envelope.ts';
import { sayMaximumContext } from '../overflow-words.ts';
import { renameError } from '../serve-text.ts';
import type { ChatFacts } from './chat-facts.ts';

/**
 * Writes an error of chat completions: the envelope of all errors, with the fields `type` and `param` that clients of
 * this format read.
 *
 * @see docs/reference/chat-completions.md#errors
 */
export const writeChatError: ErrorDialect = (thrown, routerMetadata) => {
  const error = asGatewayError(thrown);
  const response = writeErrorEnvelope(error, routerMetadata);
  const { code: status, message: said, ...rest } = response.body.error;
  const isTooLong = error.kind === 'context_length_exceeded';
  const message = isTooLong ? sayMaximumContext(said, error.tokens) : said;
  const code = isTooLong ? error.errorType : status; // clients compare it with this word
  return {
    ...response,
    body: { ...response.body, error: { message, type: error.errorType, param: findParam(error), code, ...rest } },
  };
};

/** The first invalid field. */
function findParam(error: GatewayError): string | null {
  const [first] = (error.metadata['issues'] as Issue[] | undefined) ?? [];
  return first?.path || null;
}

/** Writes the failure of a response that had begun. */
export function writeChatFailure(
  response: ResponseObject,
  { findError, rename }: Pick<ChatFacts, 'findError' | 'rename'>,
): { error: object } {
  const error = findError();
  if (error) return { error: (writeChatError(renameError(error, rename)).body as { error: object }).error };
  const message = rename(response.error?.message ?? 'The response was interrupted.');
  return { error: { message, type: response.error_type ?? 'server', param: null, code: 500, metadata: {} } };
}
