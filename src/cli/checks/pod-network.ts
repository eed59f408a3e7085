import { openPodProxies } from '../../compose/open-pod-proxies.ts';
import type { Config } from '../../config/schema.ts';
import { type Sandbox, type SandboxDriver, SandboxError, type SandboxNetwork } from '../../platform/sandbox/sandbox.ts';

export type PodEgress = NonNullable<Config['tools']['sandbox']['kubernetes']['egress']>;

/** Limits of the small pods of the check. */
const limits = {
  memoryBytes: 67_108_864,
  cpus: 0.1,
  processes: 32,
  diskBytes: 1_048_576,
  diskEntries: 100,
  temporaryBytes: 1_048_576,
};
const TIMEOUT_MS = 30_000;

/**
 * Starts a pod with a network and one without, and connects to the egress proxy from both.
 *
 * @returns what is wrong; undefined: only the first one reaches it
 */
export async function checkPodNetwork(driver: SandboxDriver, egress: PodEgress): Promise<string | undefined> {
  await using resources = new AsyncDisposableStack();
  const network = await openNetwork(egress, resources);
  const start = async (name: string, given?: SandboxNetwork): Promise<Sandbox> => {
    const sandbox = await driver.start({ name, limits, ...(given && { network: given }) });
    resources.defer(() => sandbox.stop());
    return sandbox;
  };
  try {
    await start('doctor-network', network);
    const isolated = await start('doctor-isolated');
    return (await canConnect(isolated, network)) ? NOT_ENFORCED : undefined;
  } catch (error) {
    if (error instanceof SandboxError) return error.message;
    throw error;
  }
}

const NOT_ENFORCED =
  'a pod without a network connects to the egress proxy, so the network of the cluster does not enforce NetworkPolicies, or not for this address';

/** A gateway that runs serves the address. Its answer without valid credentials is enough. */
async function openNetwork(
  { host, port, address }: PodEgress,
  resources: AsyncDisposableStack,
): Promise<SandboxNetwork & { proxyUrl: string }> {
  try {
    await openPodProxies({ host, port, address, log: () => {} }, resources);
  } catch (error) {
    const { code } = (error as Error).cause as NodeJS.ErrnoException; // of the system
    if (code !== 'EADDRINUSE') throw error;
  }
  return { proxyUrl: `http://doctor:none@${address.includes(':') ? `[${address}]` : address}:${port}` };
}

async function canConnect(sandbox: Sandbox, { proxyUrl }: { proxyUrl: string }): Promise<boolean> {
  const { hostname, port } = new URL(proxyUrl);
  const { outcome } = await sandbox.exec({
    command: `timeout 5 bash -c ': <>"/dev/tcp/$ADDRESS/$PORT"' 2>/dev/null`,
    environment: { ADDRESS: hostname.replace(/^\[|\]$/g, ''), PORT: port || '80' },
    timeoutMs: TIMEOUT_MS,
    maxOutputBytes: 0,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  return outcome.type === 'exit' && outcome.exitCode === 0;
}
