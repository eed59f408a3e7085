import { type Availability, asGatewayError, GatewayError, type Issue, isLastingFailure } from '../domain/errors.ts';
import type { RouterMetadata } from '../domain/router-metadata.ts';
import type { ErrorResponse, FailedRequest } from './error-dialect.ts';
import { type WriteRateHeaders, writeRateHeaders } from './rate-headers.ts';

/** The body of an error. Other dialects extend it. @see docs/reference/errors.md */
export interface ErrorEnvelope {
  error: {
    /** The status. */
    code: number;
    message: string;
    /** `metadata.error_type`. Typed clients require this field and the next one. */
    type: string;
    /** The first invalid field. */
    param: string | null;
    metadata: Record<string, unknown>;
    availability?: Availability;
  };
  router_metadata?: RouterMetadata;
}

/**
 * Writes the error envelope, the default dialect of routes. A value other than a GatewayError becomes a 500 that leaks
 * nothing.
 *
 * @param routerMetadata omitted on 500
 * @param writeRates writes the headers of a limit of the gateway
 */
export function writeErrorEnvelope(
  thrown: unknown,
  routerMetadata?: RouterMetadata,
  _request?: FailedRequest,
  writeRates: WriteRateHeaders = writeRateHeaders,
): ErrorResponse & { body: ErrorEnvelope } {
  const error = asGatewayError(thrown);
  const isInternal = error.status === 500;
  const metadata: Record<string, unknown> = { error_type: error.errorType, ...error.metadata };
  if (!isInternal && error.providerCode !== undefined) metadata['provider_code'] = error.providerCode;
  const { status: code, message, errorType: type } = error;
  const body: ErrorEnvelope = { error: { code, message, type, param: findParam(error), metadata } };
  if (error.availability) body.error.availability = error.availability;
  if (!isInternal && routerMetadata) body.router_metadata = routerMetadata;
  const headers: Record<string, string> = {};
  // a provider's 503 becomes 529
  if ([402, 403, 429, 503, 529].includes(error.status) && error.retryAfterSeconds !== undefined) {
    headers['retry-after'] = String(Math.max(1, Math.ceil(error.retryAfterSeconds)));
    // a budget that requests in flight have reserved: clients retry no 402 or 403 without this header
    if (error.status < 429) headers['x-should-retry'] = 'true';
  }
  // the OpenAI clients retry every 5xx unless this header forbids it
  if (isLastingFailure(error) && !error.availability) headers['x-should-retry'] = 'false';
  if (error.rateLimit) {
    const { limit, remaining, resetAtMs } = error.rateLimit;
    headers['x-ratelimit-limit'] = String(limit);
    headers['x-ratelimit-remaining'] = String(remaining);
    headers['x-ratelimit-reset'] = String(resetAtMs);
    Object.assign(headers, writeRates([error.rateLimit]));
    metadata['headers'] = {
      'X-RateLimit-Limit': String(limit),
      'X-RateLimit-Remaining': String(remaining),
      'X-RateLimit-Reset': String(resetAtMs),
    };
  }
  return { status: error.status, headers, body };
}

function findParam({ metadata }: GatewayError): string | null {
  const [first] = (metadata['issues'] as Issue[] | undefined) ?? [];
  const { param } = metadata;
  return first?.path || (typeof param === 'string' ? param : null);
}

/** Converts errors of Fastify and of Node's HTTP parser. Returns other errors unchanged. */
export function readEdgeError(thrown: unknown): unknown {
  const error = thrown as { code?: string; statusCode?: number; message?: string };
  switch (error.code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE': // malformed
      return new GatewayError('invalid_request', 'Content-Type is not a media type. Send application/json.');
    case 'ECONNRESET':
    case 'ERR_STREAM_PREMATURE_CLOSE':
      return new GatewayError('client_closed', 'The client disconnected while it sent its body.');
    default:
      if (error.statusCode === 400) return new GatewayError('invalid_request', 'The request is not valid HTTP.');
      return thrown;
  }
}
