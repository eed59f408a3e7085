import { GatewayError } from '../../domain/errors.ts';
import type { Frame } from '../wire.ts';
import { JsonExcessError, parseJson } from '../../domain/parse-json.ts';

/** Creates the error for data that violates the provider's protocol. Another endpoint may succeed. */
export const invalidUpstreamData = (message: string, cause?: unknown): GatewayError =>
  new GatewayError('upstream_failed', message, { retryable: true, cause });

/**
 * Parses JSON of a provider.
 *
 * @param name of the text, for messages: `a stream event`
 * @throws {GatewayError} `upstream_failed` if it is not JSON, or exceeds a limit of `parseJson`
 */
export function parseUpstream(text: string, name = 'a stream event'): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    const fault = cause instanceof JsonExcessError ? cause.says : 'is not JSON';
    throw invalidUpstreamData(`The provider sent ${name} that ${fault}.`, cause);
  }
}

/** Whether an event says nothing. Some servers send an empty text, or a ping without a body, to keep the connection open. */
export const isKeepAlive = ({ event, data }: Frame): boolean =>
  data === '' || data === '""' || data === 'null' || (event === 'ping' && !data.startsWith('{'));

/**
 * Parses a stream event of a protocol whose events are JSON objects.
 *
 * @throws {GatewayError} `upstream_failed` if it is not an object
 */
export function parseEvent(data: string): Record<string, unknown> {
  const event = parseUpstream(data);
  if (typeof event !== 'object' || event === null) {
    throw invalidUpstreamData('The provider sent a stream event that is not an object.');
  }
  return event as Record<string, unknown>; // a list is treated as an object without fields
}
