import { asGatewayError, type GatewayError } from '../../domain/errors.ts';
import { writeErrorEnvelope } from '../../http/error-envelope.ts';
import type { ErrorDialect } from '../../http/error-dialect.ts';

/**
 * The error dialect of interns: `error.code` is a name, except for 401, 403 and 408. `metadata` has the same name and
 * whether a retry can succeed. @see docs/reference/interns.md#errors
 */
export const writeInternError: ErrorDialect = (thrown) => {
  const error = asGatewayError(thrown);
  const { status, reason, retryable } = describe(error);
  const isNumber = reason === undefined || reason === 'timeout';
  const headers: Record<string, string> = {};
  if (error.retryAfterSeconds !== undefined)
    headers['retry-after'] = String(Math.max(1, Math.ceil(error.retryAfterSeconds)));
  const { issues } = error.metadata;
  const { type, param } = writeErrorEnvelope(error).body.error;
  const metadata = reason === undefined ? undefined : { reason, retryable, ...(issues !== undefined && { issues }) };
  return {
    status,
    headers,
    body: {
      error: { code: isNumber ? status : reason, message: error.message, type, param, ...(metadata && { metadata }) },
    },
  };
};

/** @returns without a reason: the code is the status */
function describe(error: GatewayError): { status: number; reason?: string; retryable: boolean } {
  const { status } = error;
  const named = error.metadata['reason'];
  if (typeof named === 'string') return { status, reason: named, retryable: false };
  switch (status) {
    case 400:
    case 415: // the interface has no name of its own for it
      return { status, reason: 'invalid_body', retryable: false };
    case 404:
      return { status, reason: 'not_found', retryable: false };
    case 408:
      return { status, reason: 'timeout', retryable: true };
    case 413:
      return { status, reason: 'payload_too_large', retryable: false };
    case 500:
      return { status, reason: 'internal_error', retryable: true };
    case 502:
    case 503: // the store, or a shutdown
      return { status: 502, reason: 'upstream_unavailable', retryable: true };
    default:
      return { status, retryable: false };
  }
}
