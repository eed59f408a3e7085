import { type ErrorKind, GatewayError } from '../../domain/errors.ts';

/** Replaces 408, 422 and 503, which this path does not have. @see docs/reference/images.md#errors */
export function asImageError(error: GatewayError): GatewayError {
  const kind = kinds[error.kind];
  if (kind === undefined) return error;
  const { message, metadata, availability, retryAfterSeconds, providerCode, cause } = error;
  return new GatewayError(kind, message, { metadata, availability, retryAfterSeconds, providerCode, cause });
}

const kinds: Partial<Record<ErrorKind, ErrorKind>> = {
  request_timeout: 'upstream_timeout',
  unprocessable: 'upstream_rejected',
  unavailable: 'upstream_overloaded',
};
