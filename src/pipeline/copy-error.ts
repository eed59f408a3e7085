import { GatewayError, type GatewayErrorOptions } from '../domain/errors.ts';

/** Copies an error with another message. */
export function copyError(error: GatewayError, message: string, changes: GatewayErrorOptions = {}): GatewayError {
  // Its own fields are its options, so that one that is added later is copied, too.
  return new GatewayError(error.kind, message, { ...error, cause: error.cause, ...changes });
}
