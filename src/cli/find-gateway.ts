import { findLockOwner } from '../platform/data-folder/data-folder.ts';

const timeoutMs = 2000;

interface Address {
  host: string;
  port: number;
}

export interface FoundGateway {
  /** Without a slash at the end. */
  url: string;
  version: string;
}

/** Finds the gateway that responds at an address of this machine. */
export async function findGateway(address: Address): Promise<FoundGateway | undefined> {
  const url = writeReachableUrl(address);
  try {
    const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(timeoutMs) });
    const body = (await response.json()) as { name?: unknown; version?: unknown } | null;
    return body?.name === 'headgate' ? { url, version: String(body.version) } : undefined;
  } catch {
    return undefined; // nothing listens there, or it is another program
  }
}

const writeReachableUrl = ({ host, port }: Address): string => {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
};

const allAddresses = ['0.0.0.0', '::', '[::]'];

/** Whether the gateway that uses a data folder listens at an address. */
export function listensAt(dataDir: string, address: Address): boolean {
  const owner = findLockOwner(dataDir);
  if (owner?.url === undefined) return owner !== undefined; // it starts, or its disk was full when it started
  const [own, wanted] = [new URL(owner.url), new URL(writeReachableUrl(address))];
  const isSameHost = own.hostname === wanted.hostname || allAddresses.includes(own.hostname);
  return own.port === wanted.port && (isSameHost || allAddresses.includes(address.host));
}

/** Describes whether a gateway accepts requests. */
export async function readReadiness({ url }: FoundGateway): Promise<string> {
  try {
    const response = await fetch(`${url}/ready`, { signal: AbortSignal.timeout(timeoutMs) });
    const body = (await response.json()) as { store?: string; error?: { message?: string } };
    if (!response.ok) return `not ready: ${body.error?.message ?? response.status}`;
    return body.store === undefined ? 'ready' : `ready; the store is ${body.store}`;
  } catch {
    return 'does not respond';
  }
}
