import { GatewayError } from '../../domain/errors.ts';

/** Creates the error for data that violates the provider's protocol. Another endpoint may succeed. */
export const invalidUpstreamData = (message: string, cause?: unknown): GatewayError =>
  new GatewayError('upstream_failed', message, { retryable: true, cause });

const MAX_LEVELS = 100;

/**
 * Checks the nesting of parsed JSON. The response is serialized again, which fails for deep values.
 *
 * @param length characters of the JSON text; a short text cannot be deep
 * @throws {GatewayError} `upstream_failed` above 100 levels
 */
export function checkNesting(value: unknown, length: number): void {
  if (length >= 2 * MAX_LEVELS && isDeeper(value, MAX_LEVELS))
    throw invalidUpstreamData(`The provider sent JSON that is nested more than ${MAX_LEVELS} levels deep.`);
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (const entry of value) if (isDeeper(entry, levels - 1)) return true;
    return false;
  }
  for (const name in value) if (isDeeper((value as Record<string, unknown>)[name], levels - 1)) return true;
  return false;
}

/**
 * Parses a stream event of a protocol whose events are JSON objects.
 *
 * @throws {GatewayError} `upstream_failed` if it is not an object
 */
export function parseEvent(data: string): Record<string, unknown> {
  let event: unknown;
  try {
    event = JSON.parse(data);
  } catch (cause) {
    throw invalidUpstreamData('The provider sent a stream event that is not JSON.', cause);
  }
  if (typeof event !== 'object' || event === null) {
    throw invalidUpstreamData('The provider sent a stream event that is not an object.');
  }
  checkNesting(event, data.length);
  return event as Record<string, unknown>; // a list is treated as an object without fields
}
