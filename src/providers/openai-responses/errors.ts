import type { GatewayError } from '../../domain/errors.ts';
import { readUpstreamError } from '../kit/upstream-error.ts';
import type { UpstreamErrorResponse } from '../wire.ts';

/** Reads the error of a status other than 2xx. Servers of this wire use the error format of OpenAI. */
export function readError(response: UpstreamErrorResponse): GatewayError {
  return readUpstreamError(response);
}
