import { isIP } from 'node:net';
import { isHostName } from '../outbound/rules.ts';
import { EgressRefusal } from './egress-refusal.ts';

/** Where a client of the proxy wants to connect to. */
export interface EgressTarget {
  /** A lower-case name without a final dot, or an IP address without brackets. */
  host: string;
  port: number;
  /** For the `Host` header. */
  authority: string;
}

/**
 * Reads `host:port`. The URL parser normalizes the spelling of addresses, as it does before the check of the address.
 *
 * @param usualPort if the text has none
 * @throws {EgressRefusal}
 */
export function readTarget(text: string, usualPort?: number): EgressTarget {
  const [, written = '', digits] = /^(\[[0-9A-Fa-f:.]{2,45}\]|[^:/?#@\\\s[\]]{1,300})(?::(\d{1,5}))?$/.exec(text) ?? [];
  const port = digits === undefined ? usualPort : Number(digits);
  const parsed = written === '' ? null : URL.parse(`http://${written}/`);
  if (!parsed || port === undefined || port < 1 || port > 65_535) {
    throw new EgressRefusal(400, 'The target must be HOST:PORT.');
  }
  const host = parsed.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (isIP(host) === 0 && !isHostName(host)) throw new EgressRefusal(400, 'The target is not a valid host.');
  const shown = isIP(host) === 6 ? `[${host}]` : host;
  return { host, port, authority: port === 80 ? shown : `${shown}:${port}` };
}
