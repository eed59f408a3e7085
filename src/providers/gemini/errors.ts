import { GatewayError } from '../../domain/errors.ts';
import type { UpstreamErrorResponse } from '../wire.ts';
import { readUpstreamError, readUpstreamErrorObject } from '../kit/upstream-error.ts';

/** Reads the error of a status other than 2xx. */
export const readError = (answer: UpstreamErrorResponse): GatewayError =>
  blameAccount(readUpstreamError(answer), answer.body);

/** Reads an error inside a 200 response. */
export const readErrorObject = (error: unknown): GatewayError =>
  blameAccount(readUpstreamErrorObject(error, 200), { error });

/** Reasons of `google.rpc.ErrorInfo` that concern our key or account, although the status is 400. */
const accountReasons =
  /^(?:API_KEY_|SERVICE_DISABLED|BILLING_DISABLED|CONSUMER_|ACCESS_TOKEN_|ACCOUNT_STATE_|USER_PROJECT_)/;
/** Those of them that concern the key. */
const keyReasons = /^(?:API_KEY_|ACCESS_TOKEN_)/;
/** Messages of `FAILED_PRECONDITION`, which has no reason. */
const accountWords = /enable billing|free tier is not available/i;

/**
 * Corrects the status. The provider sends 400 for a wrong key and for an account without permission. The caller is not
 * responsible for either.
 */
function blameAccount(error: GatewayError, body: unknown): GatewayError {
  if (error.kind !== 'upstream_rejected') return error;
  const reasons = readReasons(body);
  if (!accountWords.test(error.message) && !reasons.some((reason) => accountReasons.test(reason))) return error;
  const isKey = reasons.some((reason) => keyReasons.test(reason));
  const says = isKey ? 'The provider rejects the key of the gateway' : 'The provider failed';
  const rename = (message: string): string => message.replace('The provider rejected the request', says);
  const { providerCode, loggedMessage, cause } = error;
  return new GatewayError(isKey ? 'upstream_key_rejected' : 'upstream_failed', rename(error.message), {
    retryable: true,
    blamesKey: isKey,
    loggedMessage: loggedMessage && rename(loggedMessage),
    ...(providerCode === undefined ? undefined : { providerCode }),
    cause,
  });
}

function readReasons(body: unknown): string[] {
  const first = Array.isArray(body) ? body[0] : body;
  const details = (first as { error?: { details?: unknown } } | null | undefined)?.error?.details; // `?.` checks it
  if (!Array.isArray(details)) return [];
  return details.flatMap((detail) => (typeof detail?.reason === 'string' ? [detail.reason as string] : []));
}
