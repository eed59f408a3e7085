import type { GatewayError } from '../../domain/errors.ts';
import type { LogFields } from './log-messages.ts';

/** The fields that lines about failures share. */
type FailureFields = Pick<
  LogFields<'attempt failed'>,
  'kind' | 'status' | 'error_type' | 'provider_code' | 'cause' | 'err' | 'error'
>;

/** The form of a code: `insufficient_quota`, 1234. A longer text, or one with spaces, is not a code. */
const codeShape = /^[\w.:-]{1,64}$/;

/**
 * Describes a failure for the log. Describes a provider's error by its kind, without the provider's text, which may
 * contain the prompt or the rejected key. Describes a fault of the gateway completely.
 */
export function describeFailure(error: GatewayError): FailureFields {
  const { kind, status, errorType, cause, message, loggedMessage } = error;
  if (kind === 'internal') return { kind, err: cause ?? error, error: message };
  return {
    kind,
    status,
    error_type: errorType,
    ...codeOf(error),
    ...(cause instanceof Error && { cause: nameError(cause) }),
    error: loggedMessage ?? message,
  };
}

/** Returns the provider's code, unless it is a text. */
export const codeOf = ({ providerCode }: GatewayError): { provider_code?: string | number | undefined } =>
  codeShape.test(String(providerCode ?? '')) ? { provider_code: providerCode } : {};

/** Returns `TypeError`, or the code of an error of Node's network and file system: `ECONNREFUSED`. */
export const nameError = (error: Error & { code?: unknown }): string =>
  typeof error.code === 'string' ? error.code : error.name;
