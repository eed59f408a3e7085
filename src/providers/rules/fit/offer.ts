import { type Draft, refuseBecause } from '../../kit/draft.ts';
import type { Rules } from '../facets.ts';

/** The tools of a body. */
interface Offer {
  /** Number of all tools. */
  all: number;
  /** Number of those that the client runs. */
  functions: number;
  /** Whether the request forbids calls. */
  isForbidden: boolean;
}

/**
 * Compares the tools of a body with those that the server takes.
 *
 * @returns whether the functions must be left out, which loses nothing because the request forbids calls
 * @throws {GatewayError} `invalid_request` if the server does not take the tools
 */
export function mustOmitFunctions(
  { target: { endpoint }, adapted }: Draft,
  { supported, max }: NonNullable<Rules['tools']>,
  { all, functions, isForbidden }: Offer,
): boolean {
  if (supported === false && functions > 0) {
    if (!isForbidden) throw refuseBecause('tools', `${endpoint} has no function tools.`);
    adapted.add('tools');
    return true;
  }
  if (max !== undefined && all > max) {
    throw refuseBecause('tools', `${endpoint} takes at most ${max} tools, and the request has ${all}.`);
  }
  return false;
}

/** Requests a call in words, for a server that cannot force one. @param name of the tool; undefined: any */
export const requestCall = (name: string | undefined): string =>
  name === undefined ? 'Call one of the tools.' : `Call the tool ${name}.`;
