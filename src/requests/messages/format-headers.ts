import type { IncomingHttpHeaders } from 'node:http';
import { invalidRequest } from '../../domain/errors.ts';

/** A version of the format. The gateway reads all versions in the same way; providers do not. */
const versionShape = /^20\d\d-\d\d-\d\d$/;

/** Maximum features that a request may name. */
const MAX_BETAS = 50;

const betaShape = /^[\w.-]{1,100}$/;

/** Settings of the format in the headers of a request. */
export interface FormatHeaders {
  version: string | undefined;
  betas: readonly string[];
}

/**
 * Reads the headers that belong to the format.
 *
 * @throws {GatewayError} `invalid_request` for a version that is not a date, or for features with impossible names
 * @see docs/reference/messages.md#headers
 */
export function readFormatHeaders(headers: IncomingHttpHeaders): FormatHeaders {
  const given = headers['anthropic-version'];
  const version = typeof given === 'string' && given !== '' ? given : undefined;
  if (version !== undefined && !versionShape.test(version)) {
    const shown = JSON.stringify(version.slice(0, 60));
    throw invalidHeader('anthropic-version', `The header \`anthropic-version\` must be a date, got ${shown}.`);
  }
  const betas = listBetas(headers);
  if (betas.length > MAX_BETAS || !betas.every((name) => betaShape.test(name))) {
    const message = `The header \`anthropic-beta\` must have at most ${MAX_BETAS} names of letters, digits, \`.\`, \`_\` or \`-\`.`;
    throw invalidHeader('anthropic-beta', message);
  }
  return { version, betas };
}

function listBetas(headers: IncomingHttpHeaders): string[] {
  const named = ['anthropic-beta', 'x-anthropic-beta'].flatMap((name) => String(headers[name] ?? '').split(','));
  return [...new Set(named.map((name) => name.trim()).filter((name) => name !== ''))];
}

/**
 * Reads the features that a client of another format names for endpoints of this one. Impossible names are not among them.
 *
 * @returns undefined if there are none
 */
export function findBetas(headers: IncomingHttpHeaders): string[] | undefined {
  if (!('anthropic-beta' in headers) && !('x-anthropic-beta' in headers)) return undefined;
  const betas = listBetas(headers).filter((name) => betaShape.test(name));
  return betas.length > 0 ? betas.slice(0, MAX_BETAS) : undefined;
}

const invalidHeader = (path: string, message: string) => invalidRequest([{ path, message }]);
