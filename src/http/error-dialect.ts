import type { RouterMetadata } from '../domain/router-metadata.ts';

/** An error response. */
export interface ErrorResponse {
  status: number;
  headers: Record<string, string>;
  /** Sent as JSON. */
  body: object;
}

/**
 * Writes errors in the format of one API. Each route has one, which also writes the errors of the server on this
 * route: a missing key, a body that is too large or not JSON, a shutdown.
 *
 * @param thrown anything; a value other than a GatewayError is a 500
 * @param requestId the id in `X-Request-Id`
 */
export type ErrorDialect = (thrown: unknown, routerMetadata?: RouterMetadata, requestId?: string) => ErrorResponse;
