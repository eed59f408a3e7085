import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { OutboundError } from './outbound-error.ts';
import type { Resolve } from './resolve.ts';
import { isHostName, type AddressRules } from './rules.ts';

/** An address that may be fetched, and where to connect to for it: nowhere else. */
export interface CheckedUrl {
  readonly url: URL;
  /** Without brackets and final dot: for `Host` and the certificate. */
  readonly hostname: string;
  readonly port: number;
  /** Literal addresses, each of them checked; one or more. */
  readonly addresses: readonly string[];
}

const MAX_URL_LENGTH = 8192;
/** A host with more addresses than that has no need of them here. */
const MAX_ADDRESSES = 64;

/**
 * Decides whether a URL may be fetched. The WHATWG parser settles its spelling, so that what is checked is what is
 * connected to; then every address that its name has must be open.
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
    // Not even one: which of them is connected to would be up to whoever serves the name.
    const verdict = isIP(address) === 0 ? 'address' : rules.judge(ipaddr.parse(address), port, hostname);
    if (verdict === 'address') {
      throw new OutboundError('unresolvable', `${hostname} leads to ${address}, which is not open`);
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
  const name = url.hostname.replace(/\.$/, ''); // the parser has settled what is an IPv4 address, and written it plainly
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
