import type { FastifyRequest } from 'fastify';

/**
 * Whether the caller wants `router_metadata`. The new header has precedence over the legacy one if its value is valid.
 */
export function wantsMetadata(headers: FastifyRequest['headers']): boolean {
  const now = String(headers['x-router-metadata'] ?? '').toLowerCase();
  if (now === 'enabled' || now === 'disabled') return now === 'enabled';
  return String(headers['x-router-experimental-metadata'] ?? '').toLowerCase() === 'enabled';
}

/** Whether the caller wants the output of commands while they run. @see docs/reference/events.md#live-output */
export const wantsToolOutput = (headers: FastifyRequest['headers']): boolean =>
  String(headers['x-router-tool-output'] ?? '').toLowerCase() === 'enabled';

/** Whether the caller wants only events that its client knows. @see docs/reference/events.md#events-of-the-gateway */
export const wantsStandardEvents = (headers: FastifyRequest['headers']): boolean =>
  String(headers['x-router-events'] ?? '').toLowerCase() === 'standard';
