import { SandboxError, type SandboxSpec } from './sandbox.ts';

/** @returns undefined: the sandbox has no network @throws {SandboxError} if the proxy listens on a URL, which the driver does not use */
export function readProxySocket({ network }: Pick<SandboxSpec, 'network'>): string | undefined {
  if (network?.proxyUrl !== undefined)
    throw new SandboxError('unavailable', 'This driver needs a proxy on a Unix socket.');
  return network?.proxySocket;
}
