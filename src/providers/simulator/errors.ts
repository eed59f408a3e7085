import type { UpstreamErrorResponse } from '../wire.ts';

/** Reads the errors of the simulator, which have the most common format of providers. */
export { readUpstreamError as readError } from '../errors/upstream-error.ts';

/** Creates the error response instead of a stream, like a provider behind HTTP. */
export function createErrorResponse(
  status: number,
  message: string,
  retryAfterSeconds?: number,
): UpstreamErrorResponse {
  const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  return { status, headers, body: { error: { message } } };
}
