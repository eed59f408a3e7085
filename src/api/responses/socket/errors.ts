import { asGatewayError, type ErrorKind } from '../../../domain/errors.ts';
import type { ErrorDialect } from '../../../http/error-dialect.ts';
import { writeErrorEnvelope } from '../../../http/error-envelope.ts';
import { sayMaximumContext } from '../../overflow-words.ts';

/**
 * The codes that clients of OpenAI compare. Another error has its `error_type`.
 *
 * @see https://developers.openai.com/api/docs/guides/websocket-mode
 */
const codes: Partial<Record<ErrorKind, string>> = {
  authentication: 'invalid_api_key',
  payment_required: 'insufficient_quota',
  model_not_found: 'model_not_found',
  previous_response_not_found: 'previous_response_not_found',
  invalid_stream_id: 'invalid_stream_id',
  stream_limit_reached: 'websocket_stream_limit_reached',
  connection_limit_reached: 'websocket_connection_limit_reached',
};

const typeOf = (status: number): string =>
  status === 429 ? 'rate_limit_error' : status < 500 ? 'invalid_request_error' : 'server_error';

/**
 * Writes an error as an event of a WebSocket.
 *
 * @see docs/reference/responses-websocket.md#errors
 */
export const writeSocketError: ErrorDialect = (thrown, routerMetadata, request) => {
  const error = asGatewayError(thrown);
  const { status, headers, body } = writeErrorEnvelope(error, routerMetadata);
  const { code: _, type: __, param, message: said, ...rest } = body.error;
  const message = error.kind === 'context_length_exceeded' ? sayMaximumContext(said, error.tokens) : said;
  const code = codes[error.kind] ?? error.errorType;
  const event = {
    type: 'error',
    status,
    error: { type: typeOf(status), code, message, param, ...rest },
    ...(body.router_metadata && { router_metadata: body.router_metadata }),
    headers: { ...headers, ...(request && { 'x-request-id': request.id }) },
  };
  return { status, headers, body: event };
};
