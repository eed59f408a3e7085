import type { UpstreamErrorResponse } from '../wire.ts';

/** Complaints of the simulator have the shape that most providers use, and are read by the same reader. */
export { readUpstreamError as readError } from '../kit/upstream-error.ts';

/** Creates the response of a failure in place of a stream, as a provider behind HTTP would. */
export function createErrorResponse(
  status: number,
  message: string,
  retryAfterSeconds?: number,
): UpstreamErrorResponse {
  const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  return { status, headers, body: { error: { message } } };
}
