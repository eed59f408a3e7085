import { GatewayError } from '../../domain/errors.ts';
import type { ErrorDialect } from '../../http/error-dialect.ts';
import { writeErrorEnvelope } from '../../http/error-envelope.ts';
import { sayInputTooLong } from '../overflow-words.ts';

/** The words of the format by HTTP status. @see docs/reference/gemini.md#errors */
const words: ReadonlyMap<number, string> = new Map([
  [401, 'UNAUTHENTICATED'],
  [402, 'FAILED_PRECONDITION'],
  [403, 'PERMISSION_DENIED'],
  [404, 'NOT_FOUND'],
  [408, 'DEADLINE_EXCEEDED'],
  [409, 'ABORTED'],
  [429, 'RESOURCE_EXHAUSTED'],
  [499, 'CANCELLED'],
  [500, 'INTERNAL'],
  [501, 'UNIMPLEMENTED'],
  [504, 'DEADLINE_EXCEEDED'],
  [524, 'DEADLINE_EXCEEDED'],
]);

const wordOf = (status: number): string => words.get(status) ?? (status >= 500 ? 'UNAVAILABLE' : 'INVALID_ARGUMENT');

/** The statuses for the `error_type` of a failed response. */
const statuses: ReadonlyMap<string, number> = new Map([
  ['invalid_request', 400],
  ['context_length_exceeded', 400],
  ['content_policy_violation', 400],
  ['authentication', 401],
  ['payment_required', 402],
  ['permission_denied', 403],
  ['not_found', 404],
  ['payload_too_large', 413],
  ['unprocessable', 422],
  ['rate_limit_exceeded', 429],
  ['provider_overloaded', 503],
  ['timeout', 504],
]);

/** Writes the error of a response that has begun. @param errorType of the gateway */
export function writeStreamError(errorType: string, said: string): Record<string, unknown> {
  const code = statuses.get(errorType) ?? 500;
  const message = errorType === 'context_length_exceeded' ? sayInputTooLong(said) : said;
  return { code, message, status: wordOf(code), error_type: errorType };
}

/** Writes errors in the envelope of the Gemini API, with the additions of the gateway. */
export const writeGeminiError: ErrorDialect = (thrown, routerMetadata) => {
  const { status, headers, body } = writeErrorEnvelope(thrown, routerMetadata);
  const { message: said, metadata: all, availability } = body.error;
  const error = thrown instanceof GatewayError ? thrown : undefined;
  const message = error?.kind === 'context_length_exceeded' ? sayInputTooLong(said, error.tokens) : said;
  const { error_type: errorType, ...metadata } = all;
  const wait = headers['retry-after'];
  return {
    status,
    headers,
    body: {
      error: {
        code: status,
        message,
        status: wordOf(status),
        ...(wait !== undefined && {
          details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${wait}s` }],
        }),
        error_type: errorType,
        metadata,
        ...(availability && { availability }),
      },
      ...(body.router_metadata && { router_metadata: body.router_metadata }),
    },
  };
};
