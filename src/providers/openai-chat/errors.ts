import type { UpstreamErrorResponse } from '../wire.ts';
import { readUpstreamError } from '../kit/upstream-error.ts';

/** Reads the error of a status other than 2xx. Servers of this wire use the error format of OpenAI. */
export const readError = (response: UpstreamErrorResponse) => readUpstreamError(response);
