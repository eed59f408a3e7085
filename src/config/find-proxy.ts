import { BlockList, isIP } from 'node:net';
import type { Environment } from './environment.ts';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8);
loopback.addAddress('::1', 'ipv6');
loopback.addAddress('0.0.0.0', 'ipv4');
loopback.addAddress('::', 'ipv6');

/**
 * Returns the proxy of the environment for a URL: `HTTPS_PROXY` or `HTTP_PROXY` by its protocol, otherwise `ALL_PROXY`, in
 * small letters as well, unless `NO_PROXY` names its host. This machine is never reached through a proxy.
 *
 * @returns undefined if there is none, or if the variable is not an http or https URL
 */
export function findProxy(address: string, env: Environment): string | undefined {
  const url = URL.parse(address);
  if (!url) return undefined;
  const host = url.hostname.replace(/^\[|\]$/g, '').toLowerCase();
  const bare = host.replace(/\.$/, '');
  if (bare === 'localhost' || bare.endsWith('.localhost')) return undefined;
  const version = isIP(host);
  if (version !== 0 && loopback.check(host, version === 6 ? 'ipv6' : 'ipv4')) return undefined;
  const read = (name: string): string | undefined => env[name.toLowerCase()] || env[name] || undefined;
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  if (isListed(bare, port, read('NO_PROXY') ?? '')) return undefined;
  const proxy = (url.protocol === 'https:' ? read('HTTPS_PROXY') : read('HTTP_PROXY')) ?? read('ALL_PROXY');
  if (proxy === undefined) return undefined;
  const written = /^[a-z][a-z0-9+.-]*:\/\//i.test(proxy) ? proxy : `http://${proxy}`;
  const parsed = URL.parse(written);
  return parsed?.protocol === 'http:' || parsed?.protocol === 'https:' ? written : undefined;
}

/** Whether a list like `example.com, .internal, 10.0.0.0/8, *` names a host. A name stands for its subdomains, too. */
function isListed(host: string, port: string, list: string): boolean {
  return list.split(/[\s,]+/).some((entry) => {
    if (entry === '') return false;
    if (entry === '*') return true;
    const [, name = '', ofPort] =
      /^(.*?)(?::(\d+))?$/.exec(
        entry
          .toLowerCase()
          .replace(/^\*?\./, '')
          .replace(/\.$/, ''),
      ) ?? [];
    if (isIP(host) !== 0) return matchesAddress(host, entry.replace(/^\[(.*)\]$/, '$1'), name);
    if (ofPort !== undefined && ofPort !== port) return false;
    return host === name || host.endsWith(`.${name}`);
  });
}

function matchesAddress(host: string, entry: string, name: string): boolean {
  const [network = '', bits] = entry.split('/');
  const version = isIP(network);
  if (version === 0) return host === name;
  if (bits === undefined) return host === network;
  const range = new BlockList();
  const family = version === 6 ? 'ipv6' : 'ipv4';
  const prefix = Number(bits);
  if (!Number.isInteger(prefix) || prefix < 0 || prefix > (version === 6 ? 128 : 32)) return false;
  range.addSubnet(network, prefix, family);
  return isIP(host) === version && range.check(host, family);
}
