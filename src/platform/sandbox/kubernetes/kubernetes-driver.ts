import { hostname } from 'node:os';
import { isProcessAlive } from '../is-process-alive.ts';
import { RemoteSandbox } from '../remote/remote-sandbox.ts';
import { type Sandbox, type SandboxDriver, SandboxError, type SandboxSpec } from '../sandbox.ts';
import { DENY_ALL, describePod, GATEWAY_LABEL_KEY, OWNER_ANNOTATION, type PodSettings } from './describe-pod.ts';
import { ClusterError, type ClusterSettings, findCluster } from './find-cluster.ts';
import { KubeClient, KubeError } from './kube-client.ts';
import { KubernetesPod, type Pod, PodError, removePod } from './kubernetes-pod.ts';

export type KubernetesSettings = ClusterSettings & PodSettings;

const POLICIES = 'apis/networking.k8s.io/v1';
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

  /** Connects, and forbids the pods all traffic. */
  const connect = (): Promise<KubeClient> => {
    connecting ??= openClient(settings, env).catch((error) => {
      connecting = undefined; // the next call tries again
      throw error;
    });
    return connecting;
  };

  const startPod = async (spec: SandboxSpec): Promise<Sandbox> => {
    const client = await connect();
    const { limits, name } = spec;
    const described = describePod({ settings, limits, sandbox: name, gateway, owner });
    const created = (await client.call('POST', 'pods', described)) as Pod; // the API
    const pod = new KubernetesPod(client, created.metadata.name);
    const processes = limits.processes + OWN_PROCESSES;
    const sandbox = new RemoteSandbox(pod, spec, { isHomeLimited: settings.home === 'memory', processes });
    running.add(sandbox);
    sandbox.ended.addEventListener('abort', () => running.delete(sandbox), { once: true });
    try {
      await pod.run(() => void endSandbox(sandbox, pod));
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
        await client.call('GET', 'pods?limit=1');
        return undefined;
      } catch (error) {
        return explainFault(error);
      }
    },

    async start(spec) {
      if (isClosed) throw new SandboxError('unavailable', 'The gateway is shutting down.');
      if (spec.network) {
        const message = 'Sandboxes of the kubernetes driver have no network. Remove network_policy.';
        throw new SandboxError('unavailable', message);
      }
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

async function openClient(settings: KubernetesSettings, env: NodeJS.ProcessEnv): Promise<KubeClient> {
  const client = new KubeClient(await findCluster(settings, env));
  try {
    await client.call('GET', `networkpolicies/${DENY_ALL.metadata.name}`, undefined, POLICIES);
  } catch (error) {
    if (!(error instanceof KubeError && error.status === 404)) throw error;
    await client.call('POST', 'networkpolicies', DENY_ALL, POLICIES).catch((problem) => {
      if (!(problem instanceof KubeError && problem.status === 409)) throw problem; // 409: another process was faster
    });
  }
  return client;
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
  if (error instanceof ClusterError || error instanceof PodError) return error.message;
  if (!(error instanceof KubeError)) return 'The pod of the sandbox did not start.';
  if (error.status === 401 || error.status === 403) {
    return `The cluster does not let the gateway run sandboxes: ${error.message} docs/guides/sandbox.md has the role that it needs.`;
  }
  return error.status === undefined ? error.message : `The cluster rejected the sandbox: ${error.message}`;
}
