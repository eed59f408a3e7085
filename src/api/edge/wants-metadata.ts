import type { FastifyRequest } from 'fastify';

/**
 * Whether the caller wants `router_metadata`. The new header has precedence over the legacy one if its value is valid.
 */
export function wantsMetadata(headers: FastifyRequest['headers']): boolean {
  const now = String(headers['x-router-metadata'] ?? '').toLowerCase();
  if (now === 'enabled' || now === 'disabled') return now === 'enabled';
  return String(headers['x-router-experimental-metadata'] ?? '').toLowerCase() === 'enabled';
}
