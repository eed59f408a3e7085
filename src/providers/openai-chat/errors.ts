import type { UpstreamErrorResponse } from '../wire.ts';
import { readUpstreamError } from '../kit/upstream-error.ts';

/** What a status other than 2xx means. Servers of this wire take over the errors of OpenAI along with its paths. */
export const readError = (answer: UpstreamErrorResponse) => readUpstreamError(answer);
