import type { GatewayError } from '../../domain/errors.ts';
import { readUpstreamError } from '../kit/upstream-error.ts';
import type { UpstreamErrorResponse } from '../wire.ts';

/** What a status other than 2xx means: this wire's errors are those of every server that speaks like OpenAI. */
export function readError(response: UpstreamErrorResponse): GatewayError {
  return readUpstreamError(response);
}
