import type { IncomingHttpHeaders } from 'node:http';
import { invalidRequest } from '../../domain/errors.ts';

/** The version of the format that the gateway serves, and sends to providers. */
export const FORMAT_VERSION = '2023-06-01';

/** Maximum features that a request may name. */
const MAX_BETAS = 50;

const betaShape = /^[\w.-]{1,100}$/;

/**
 * Reads the headers that belong to the format.
 *
 * @throws {GatewayError} `invalid_request` for another version, or for features with impossible names
 * @see docs/reference/messages.md#headers
 */
export function readFormatHeaders(headers: IncomingHttpHeaders): { betas: string[] } {
  const version = headers['anthropic-version'];
  if (typeof version === 'string' && version !== '' && version !== FORMAT_VERSION) {
    const shown = JSON.stringify(version.slice(0, 60));
    throw invalidHeader(
      'anthropic-version',
      `The header \`anthropic-version\` must be ${FORMAT_VERSION}, got ${shown}.`,
    );
  }
  const named = ['anthropic-beta', 'x-anthropic-beta'].flatMap((name) => String(headers[name] ?? '').split(','));
  const betas = [...new Set(named.map((name) => name.trim()).filter((name) => name !== ''))];
  if (betas.length > MAX_BETAS || !betas.every((name) => betaShape.test(name))) {
    const message = `The header \`anthropic-beta\` must have at most ${MAX_BETAS} names of letters, digits, \`.\`, \`_\` or \`-\`.`;
    throw invalidHeader('anthropic-beta', message);
  }
  return { betas };
}

const invalidHeader = (path: string, message: string) => invalidRequest([{ path, message }]);
