import type { IncomingMessage } from 'node:http';
import type { RouterMetadata } from '../domain/router-metadata.ts';

/** An error response. */
export interface ErrorResponse {
  status: number;
  headers: Record<string, string>;
  /** Sent as JSON. */
  body: object;
}

/** The request that failed. */
export interface FailedRequest extends Pick<IncomingMessage, 'headers' | 'url'> {
  /** The id in `X-Request-Id`. */
  id: string;
}

/**
 * Writes errors in the format of one API. Each route has one, which also writes the errors of the server on this
 * route: a missing key, a body that is too large or not JSON, a shutdown.
 *
 * @param thrown anything; a value other than a GatewayError is a 500
 * @param request undefined if it could not be parsed, and for a failure that is not a response
 */
export type ErrorDialect = (thrown: unknown, routerMetadata?: RouterMetadata, request?: FailedRequest) => ErrorResponse;
