import { GatewayError, type GatewayErrorOptions } from '../domain/errors.ts';

/** Copies an error with another message. */
export function copyError(error: GatewayError, message: string, changes: GatewayErrorOptions = {}): GatewayError {
  // The fields of an error are its options, so fields that are added later are copied, too.
  return new GatewayError(error.kind, message, { ...error, cause: error.cause, ...changes });
}
