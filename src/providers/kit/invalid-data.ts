import { GatewayError } from '../../domain/errors.ts';

/** A provider sent what its protocol does not have; another endpoint may do better. */
export const invalidUpstreamData = (message: string, cause?: unknown): GatewayError =>
  new GatewayError('upstream_failed', message, { retryable: true, cause });

/** A stream event of a protocol whose events are JSON objects. @throws {GatewayError} `upstream_failed` when it is none */
export function parseEvent(data: string): Record<string, unknown> {
  let event: unknown;
  try {
    event = JSON.parse(data);
  } catch (cause) {
    throw invalidUpstreamData('The provider sent a stream event that is not JSON.', cause);
  }
  if (typeof event !== 'object' || event === null) {
    throw invalidUpstreamData('The provider sent a stream event that is no object.');
  }
  return event as Record<string, unknown>; // a list passes for one without the fields
}
