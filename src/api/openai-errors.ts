import { asGatewayError, type ErrorKind, type GatewayError } from '../domain/errors.ts';
import type { ErrorDialect, FailedRequest } from '../http/error-dialect.ts';
import { type ErrorEnvelope, writeErrorEnvelope } from '../http/error-envelope.ts';
import { sayMaximumContext } from './overflow-words.ts';

/**
 * The `code` of OpenAI for each kind of error that has one. Other kinds have their `error_type`.
 *
 * @see docs/reference/errors.md#codes-of-openai
 */
const codes: Partial<Record<ErrorKind, string>> = {
  authentication: 'invalid_api_key',
  internal: 'server_error',
  method_not_allowed: 'method_not_supported',
  model_not_found: 'model_not_found',
  model_unavailable: 'model_not_found',
  not_offered: 'unsupported_parameter',
  payment_required: 'insufficient_quota',
  wrong_endpoint: 'unsupported_model',
};

/** Returns the `code` of an error. A budget that is used up is a quota, also where its status is 403. */
const codeOf = ({ kind, errorType, metadata }: GatewayError): string =>
  typeof metadata['limit_source'] === 'string' ? 'insufficient_quota' : (codes[kind] ?? errorType);

/**
 * Whether a client rejects a `code` that is not a number. The clients of OpenRouter for all languages name themselves in
 * this way.
 *
 * @see https://openrouter.ai/docs/api-reference/errors
 */
export const readsNumbers = (headers: FailedRequest['headers']): boolean =>
  /\bopenrouter\b/i.test(headers['user-agent'] ?? '');

/** The object `error`. */
export type OpenAIFailure = Omit<ErrorEnvelope['error'], 'code'> & { code: string | number };

/** @param hasNumber whether `code` is the status */
export function writeOpenAIFailure(thrown: unknown, hasNumber: boolean): OpenAIFailure {
  const error = asGatewayError(thrown);
  const written = writeErrorEnvelope(error).body.error;
  const isTooLong = error.kind === 'context_length_exceeded';
  const message = isTooLong ? sayMaximumContext(written.message, error.tokens) : written.message;
  return { ...written, message, code: hasNumber ? error.status : codeOf(error) };
}

/**
 * Writes errors in the format of OpenAI: the envelope of all errors, with a text as `code`.
 *
 * @see docs/reference/errors.md#codes-of-openai
 */
export const writeOpenAIError: ErrorDialect = (thrown, routerMetadata, request) => {
  const response = writeErrorEnvelope(thrown, routerMetadata, request);
  const error = writeOpenAIFailure(thrown, request !== undefined && readsNumbers(request.headers));
  return { ...response, body: { ...response.body, error } };
};
