import type { FastifyRequest } from 'fastify';

/** The new header wins over the legacy one when it has a valid value. @see router-metadata.md section 1 */
export function wantsMetadata(headers: FastifyRequest['headers']): boolean {
  const now = String(headers['x-router-metadata'] ?? '').toLowerCase();
  if (now === 'enabled' || now === 'disabled') return now === 'enabled';
  return String(headers['x-router-experimental-metadata'] ?? '').toLowerCase() === 'enabled';
}
