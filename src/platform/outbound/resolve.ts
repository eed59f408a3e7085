import { lookup, Resolver } from 'node:dns/promises';

/**
 * Resolves a host name.
 *
 * @param isOpened whether the operator named this host
 * @returns at least one address
 * @throws if the name has no address
 */
export type Resolve = (name: string, isOpened: boolean, signal: AbortSignal) => Promise<readonly string[]>;

/**
 * Creates a resolver. Only the name servers resolve a name from a caller. The hosts file and the search list of the
 * machine must not give it a meaning, and an unresponsive server must not block a thread that the rest of the process
 * needs. A name that the operator opened may be in the hosts file.
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
