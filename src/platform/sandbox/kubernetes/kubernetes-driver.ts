import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { isProcessAlive } from '../is-process-alive.ts';
import { writeProxyEnvironment } from '../network-relay.ts';
import { RemoteSandbox } from '../remote/remote-sandbox.ts';
import { type Sandbox, type SandboxDriver, SandboxError, type SandboxSpec } from '../sandbox.ts';
import { awaitRoute } from './await-route.ts';
import { describePod, GATEWAY_LABEL_KEY, OWNER_ANNOTATION, type PodSettings } from './describe-pod.ts';
import { ClusterError, type ClusterSettings, findCluster } from './find-cluster.ts';
import { KubeClient, KubeError } from './kube-client.ts';
import { KubernetesPod, type Pod, PodError, removePod } from './kubernetes-pod.ts';
import { denyTraffic, EGRESS_LABEL, type GatewayPods, permitProxy, PolicyError } from './network-policy.ts';

export interface KubernetesSettings extends ClusterSettings, PodSettings {
  /** The pods that sandboxes with a network may reach. Absent: the address of the proxy. */
  gatewayPods?: GatewayPods;
}

/** Processes of the gateway in a pod. */
const OWN_PROCESSES = 9;

const owner = `${hostname()}:${process.pid}`;

/**
 * Runs each sandbox in a pod of a Kubernetes cluster.
 *
 * @param gateway id that the processes and restarts of a gateway share, as the value of a label
 */
export function createKubernetesDriver(
  settings: KubernetesSettings,
  gateway: string,
  env: NodeJS.ProcessEnv = process.env,
): SandboxDriver {
  const running = new Set<Sandbox>();
  let isClosed = false;
  let connecting: Promise<KubeClient> | undefined;

  const connect = async (): Promise<KubeClient> => {
    connecting ??= findCluster(settings, env).then((cluster) => new KubeClient(cluster));
    connecting.catch(() => {
      connecting = undefined; // the next call tries again
    });
    return await connecting;
  };

  const startPod = async (spec: SandboxSpec): Promise<Sandbox> => {
    const proxy = readProxy(spec);
    const client = await connect();
    await denyTraffic(client);
    const { limits, name } = spec;
    const label = randomBytes(16).toString('hex');
    const labels = proxy && { [EGRESS_LABEL]: label };
    const described = describePod({ settings, limits, sandbox: name, gateway, owner, ...(labels && { labels }) });
    const { metadata } = (await client.call('POST', 'pods', described)) as Pod; // the API
    const pod = new KubernetesPod(client, metadata.name);
    const sandbox = new RemoteSandbox(pod, spec, {
      isHomeLimited: settings.home === 'memory',
      processes: limits.processes + OWN_PROCESSES,
      ...(proxy && { environment: writeProxyEnvironment(spec.network?.proxyUrl) }),
    });
    running.add(sandbox);
    sandbox.ended.addEventListener('abort', () => running.delete(sandbox), { once: true });
    try {
      if (proxy) await permitProxy(client, { pod: metadata, label, proxy, gatewayPods: settings.gatewayPods });
      await pod.run(() => void endSandbox(sandbox, pod));
      if (proxy) await awaitRoute(pod, proxy);
      await sandbox.open();
      return sandbox;
    } catch (error) {
      await sandbox.end('unavailable', 'The pod of the sandbox did not start.').catch(() => {}); // that error matters more
      throw error;
    }
  };

  return {
    kind: 'kubernetes',

    async probe() {
      try {
        const client = await connect();
        await denyTraffic(client);
        await client.call('GET', 'pods?limit=1');
        return undefined;
      } catch (error) {
        return explainFault(error);
      }
    },

    async start(spec) {
      if (isClosed) throw new SandboxError('unavailable', 'The gateway is shutting down.');
      try {
        return await startPod(spec);
      } catch (error) {
        if (error instanceof SandboxError) throw error;
        throw new SandboxError('unavailable', explainFault(error), { cause: error });
      }
    },

    async removeLeftovers() {
      const client = await connect();
      const selector = encodeURIComponent(`${GATEWAY_LABEL_KEY}=${gateway}`);
      const { items } = (await client.call('GET', `pods?labelSelector=${selector}`)) as { items: Pod[] }; // the API
      for (const pod of items) if (isLeftover(pod)) await removePod(client, pod.metadata.name);
    },

    async close() {
      isClosed = true;
      await Promise.allSettled(Array.from(running, (sandbox) => sandbox.stop()));
      await connecting?.then(
        (client) => client.close(),
        () => {}, // it did not connect
      );
    },
  };
}

/** @returns undefined: the sandbox has no network @throws {SandboxError} if the proxy has no address */
function readProxy({ network }: SandboxSpec): URL | undefined {
  if (!network) return undefined;
  if (network.proxyUrl !== undefined) return new URL(network.proxyUrl);
  throw new SandboxError('unavailable', 'A pod cannot reach a Unix socket of the gateway.');
}

async function endSandbox(sandbox: RemoteSandbox, pod: KubernetesPod): Promise<void> {
  if (sandbox.ended.aborted) return;
  const lost = { problem: 'crashed', message: 'The connection to the pod of the sandbox was lost.' } as const;
  const end = (await pod.findEnd().catch(() => undefined)) ?? lost; // the cluster does not respond
  await sandbox.end(end.problem, end.message).catch(() => {}); // the pod is a leftover then
}

/** Whether a pod has ended, or the process that owns it has. Pods of other hosts end without their gateway. */
function isLeftover({ status, metadata }: Pod): boolean {
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return true;
  const ownedBy = metadata.annotations?.[OWNER_ANNOTATION] ?? '';
  const at = ownedBy.lastIndexOf(':');
  return ownedBy.slice(0, at) === hostname() && !isProcessAlive(Number(ownedBy.slice(at + 1)));
}

function explainFault(error: unknown): string {
  if (error instanceof ClusterError || error instanceof PodError || error instanceof PolicyError) return error.message;
  if (!(error instanceof KubeError)) return 'The pod of the sandbox did not start.';
  if (error.status === 401 || error.status === 403) {
    return `The cluster does not let the gateway run sandboxes: ${error.message} docs/guides/sandbox.md has the role that it needs.`;
  }
  return error.status === undefined ? error.message : `The cluster rejected the sandbox: ${error.message}`;
}
