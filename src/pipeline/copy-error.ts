import { GatewayError, type GatewayErrorOptions } from '../domain/errors.ts';

/** The same failure, told otherwise. */
export function copyError(error: GatewayError, message: string, changes: GatewayErrorOptions = {}): GatewayError {
  const {
    kind,
    metadata,
    availability,
    errorType,
    retryable,
    retryAfterSeconds,
    providerCode,
    blamesKey,
    cause,
    isRegional,
  } = error;
  return new GatewayError(kind, message, {
    metadata,
    availability,
    errorType,
    retryable,
    retryAfterSeconds,
    providerCode,
    blamesKey,
    isRegional,
    cause,
    ...changes,
  });
}
