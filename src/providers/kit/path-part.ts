import { GatewayError } from '../../domain/errors.ts';
import type { Target } from '../wire.ts';

/**
 * A part of an upstream's path: the name of a model, or what stands between the slashes of one. A caller may have chosen it
 * through a wildcard, and must not reach another path by it.
 *
 * @throws {GatewayError} `invalid_request` when it is empty or made of dots, which a server reads as a way up
 */
export function writePathPart(part: string, { endpoint, upstreamModel }: Target): string {
  if (!/^\.*$/.test(part)) return `/${encodeURIComponent(part)}`;
  const message = `${endpoint}: ${JSON.stringify(upstreamModel)} is no name of a model.`;
  throw new GatewayError('invalid_request', message, { metadata: { param: 'model' } });
}
