import { GatewayError } from '../../domain/errors.ts';
import type { Target } from '../wire.ts';

/**
 * Encodes a part of an upstream's path: the name of a model, or a segment of one. A caller may have chosen it through a
 * wildcard, and must not reach another path with it.
 *
 * @throws {GatewayError} `invalid_request` if it is empty or consists of dots, which a server reads as a parent path
 */
export function writePathPart(part: string, { endpoint, upstreamModel }: Target): string {
  if (!/^\.*$/.test(part)) return `/${encodeURIComponent(part)}`;
  const message = `${endpoint}: ${JSON.stringify(upstreamModel)} is not the name of a model.`;
  throw new GatewayError('invalid_request', message, { metadata: { param: 'model' } });
}
