import { GatewayError } from '../../domain/errors.ts';

/** A provider sent what its protocol does not have; another endpoint may do better. */
export const invalidUpstreamData = (message: string, cause?: unknown): GatewayError =>
  new GatewayError('upstream_failed', message, { retryable: true, cause });

const MAX_LEVELS = 100;

/**
 * Checks the nesting of parsed JSON. The response is written as JSON again, and that fails for deep values.
 *
 * @param length characters of the JSON text; a short one cannot be deep
 * @throws {GatewayError} `upstream_failed` above 100 levels
 */
export function checkNesting(value: unknown, length: number): void {
  if (length >= 2 * MAX_LEVELS && isDeeper(value, MAX_LEVELS))
    throw invalidUpstreamData(`The provider sent JSON that is nested more than ${MAX_LEVELS} levels deep.`);
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((entry) => isDeeper(entry, levels - 1));
  for (const name in value) if (isDeeper((value as Record<string, unknown>)[name], levels - 1)) return true;
  return false;
}

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
  checkNesting(event, data.length);
  return event as Record<string, unknown>; // a list passes for one without the fields
}
