import { GatewayError } from '../../domain/errors.ts';
import type { ErrorDialect } from '../../http/error-dialect.ts';
import { writeErrorEnvelope } from '../../http/error-envelope.ts';
import { writeAnthropicRateHeaders } from '../../http/rate-headers.ts';
import { sayPromptTooLong } from '../overflow-words.ts';

/** The words of the format by status. @see docs/reference/messages.md#errors */
const typesByStatus: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [408, 'timeout_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [524, 'timeout_error'],
  [529, 'overloaded_error'],
]);

const typeOfStatus = (status: number): string =>
  typesByStatus.get(status) ?? (status >= 500 ? 'api_error' : 'invalid_request_error');

/** The words of the format for the `error_type` of a failed response. */
const typesByWord: ReadonlyMap<string, string> = new Map([
  ['invalid_request', 'invalid_request_error'],
  ['context_length_exceeded', 'invalid_request_error'],
  ['content_policy_violation', 'invalid_request_error'],
  ['authentication', 'authentication_error'],
  ['payment_required', 'billing_error'],
  ['permission_denied', 'permission_error'],
  ['not_found', 'not_found_error'],
  ['rate_limit_exceeded', 'rate_limit_error'],
  ['timeout', 'timeout_error'],
  ['provider_overloaded', 'overloaded_error'],
  ['payload_too_large', 'request_too_large'],
  ['unprocessable', 'invalid_request_error'],
]);

/** @param errorType of the gateway */
export const errorTypeOf = (errorType: string): string => typesByWord.get(errorType) ?? 'api_error';

/** Writes errors in the envelope of the Messages API, with the additions of the gateway. */
export const writeMessagesError: ErrorDialect = (thrown, routerMetadata, request) => {
  const { status, headers, body } = writeErrorEnvelope(thrown, routerMetadata, request, writeAnthropicRateHeaders);
  const requestId = request?.id;
  const { message: said, metadata: all, availability } = body.error;
  const isTooLong = thrown instanceof GatewayError && thrown.kind === 'context_length_exceeded';
  const message = isTooLong ? sayPromptTooLong(said, thrown.tokens) : said;
  const { error_type: errorType, details, ...metadata } = all;
  return {
    status,
    headers: requestId === undefined ? headers : { ...headers, 'request-id': requestId },
    body: {
      type: 'error',
      error: {
        type: typeOfStatus(status),
        message,
        error_type: errorType,
        code: status,
        metadata,
        ...(details !== undefined && { details }),
        ...(availability && { availability }),
      },
      ...(requestId !== undefined && { request_id: requestId }),
      ...(body.router_metadata && { router_metadata: body.router_metadata }),
    },
  };
};
