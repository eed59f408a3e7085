import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { OutboundError } from './outbound-error.ts';
import type { Resolve } from './resolve.ts';
import { isHostName, type AddressRules } from './rules.ts';

/** A URL that may be fetched, and the only addresses to connect to for it. */
export interface CheckedUrl {
  readonly url: URL;
  /** Without brackets and final dot: for `Host` and the certificate. */
  readonly hostname: string;
  readonly port: number;
  /** Literal addresses that passed the check, at least one. */
  readonly addresses: readonly string[];
}

const MAX_URL_LENGTH = 8192;
/** No legitimate host needs more addresses. */
const MAX_ADDRESSES = 64;

/**
 * Decides whether a URL may be fetched. The WHATWG parser normalizes its spelling, so that the connection uses the
 * checked address. Every address of its name must be open.
 *
 * @throws {OutboundError}
 */
export async function checkUrl(
  text: string,
  rules: AddressRules,
  resolve: Resolve,
  signal: AbortSignal,
): Promise<CheckedUrl> {
  const url = readUrl(text);
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
  if (!rules.knowsPort(port)) throw new OutboundError('blocked_port', `port ${port}`);
  const hostname = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(hostname) !== 0) {
    const verdict = rules.judge(ipaddr.parse(hostname), port, undefined);
    if (verdict === 'port') throw new OutboundError('blocked_port', `port ${port}`);
    if (verdict === 'address') throw new OutboundError('blocked_address', `${hostname} is not open`);
    return { url, hostname, port, addresses: [hostname] };
  }
  if (rules.refusesName(hostname, port)) throw new OutboundError('blocked_address', `${hostname} is not open`);
  const addresses = await find(hostname, rules.opensName(hostname, port), resolve, signal);
  let isPortClosed = false;
  for (const address of addresses) {
    // All of them must be open. Otherwise the owner of the name could choose the one to connect to.
    const verdict = isIP(address) === 0 ? 'address' : rules.judge(ipaddr.parse(address), port, hostname);
    if (verdict === 'address') {
      throw new OutboundError('unresolvable', `${hostname} resolves to ${address}, which is not open`);
    }
    if (verdict === 'port') isPortClosed = true;
  }
  if (isPortClosed) throw new OutboundError('blocked_port', `port ${port}`);
  return { url, hostname, port, addresses };
}

function readUrl(text: string): URL {
  const url = text.length > MAX_URL_LENGTH ? null : URL.parse(text);
  if (!url) throw new OutboundError('invalid_url');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new OutboundError('unsupported_scheme');
  if (url.username !== '' || url.password !== '') throw new OutboundError('has_credentials');
  url.hash = '';
  if (url.hostname.startsWith('[')) return url;
  const name = url.hostname.replace(/\.$/, ''); // the parser has detected and normalized IPv4 addresses
  if (!isHostName(name)) throw new OutboundError('invalid_url');
  if (name !== url.hostname) url.hostname = name;
  return url;
}

async function find(
  name: string,
  isOpened: boolean,
  resolve: Resolve,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const addresses = await resolve(name, isOpened, signal).catch((error: NodeJS.ErrnoException) => {
    throw new OutboundError('unresolvable', `${name} was not found (${error.code ?? error.name})`);
  });
  if (addresses.length === 0) throw new OutboundError('unresolvable', `${name} has no address`);
  if (addresses.length > MAX_ADDRESSES)
    throw new OutboundError('unresolvable', `${name} has ${addresses.length} addresses`);
  return addresses;
}
