import { isIP } from 'node:net';
import { EgressListener } from '../platform/egress/egress-listener.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import type { OpenProxy } from './create-egress.ts';

export interface PodProxyOptions {
  /** To listen on. */
  host: string;
  port: number;
  /** IP address under which pods reach this process. */
  address: string;
  log: WriteLog;
}

/** Opens the listener for the proxies of pods, which cannot open a Unix socket of the gateway. @throws if it cannot listen */
export async function openPodProxies(
  { host, port, address, log }: PodProxyOptions,
  resources: AsyncDisposableStack,
): Promise<OpenProxy> {
  const listener = await EgressListener.open({
    host,
    port,
    report: (rejected) => log('egress client rejected', rejected),
  }).catch((cause: NodeJS.ErrnoException) => {
    const message = `The egress proxy cannot listen on ${host} port ${port} (${cause.code}). Change tools.sandbox.kubernetes.egress.`;
    throw new Error(message, { cause });
  });
  resources.defer(() => listener.close());
  return async (options) => {
    const { credentials, close } = listener.add(options);
    const { username, password } = credentials;
    const authority = `${isIP(address) === 6 ? `[${address}]` : address}:${listener.port}`;
    return { network: { proxyUrl: `http://${username}:${password}@${authority}` }, close: async () => close() };
  };
}
