import { lookup, Resolver } from 'node:dns/promises';

/**
 * Finds the addresses of a host.
 *
 * @param isOpened the operator named this host himself
 * @returns one or more addresses
 * @throws when there are none
 */
export type Resolve = (name: string, isOpened: boolean, signal: AbortSignal) => Promise<readonly string[]>;

/**
 * A name from a caller is asked of the name servers alone: neither the machine's hosts file nor its search list may give
 * it a meaning, and a server that never answers must not hold a thread that the rest of the process needs. A name that
 * the operator opened may well stand in that file.
 *
 * @param servers absent: those of the machine
 */
export function createResolve(servers?: readonly string[]): Resolve {
  return async (name, isOpened, signal) => {
    if (isOpened) return (await lookup(name, { all: true, order: 'ipv4first' })).map(({ address }) => address);
    const resolver = new Resolver({ timeout: 2000, tries: 2 });
    if (servers) resolver.setServers(servers);
    const cancel = () => resolver.cancel();
    signal.addEventListener('abort', cancel);
    try {
      const [v4, v6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
      if (v4.status === 'rejected' && v6.status === 'rejected') throw v4.reason;
      return [v4, v6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  };
}
