import { chmod } from 'node:fs/promises';
import { hostname } from 'node:os';
import { isProcessAlive } from '../is-process-alive.ts';
import { writeProxyEnvironment } from '../network-relay.ts';
import { readProxySocket } from '../read-proxy-socket.ts';
import { RemoteSandbox } from '../remote/remote-sandbox.ts';
import { type Sandbox, type SandboxDriver, SandboxError, type SandboxSpec } from '../sandbox.ts';
import {
  type DockerSettings,
  describeContainer,
  GATEWAY_LABEL,
  OWNER_LABEL,
  SANDBOX_LABEL,
} from './describe-container.ts';
import { DockerContainer, removeDockerContainer } from './docker-container.ts';
import { EngineClient, EngineError } from './engine-client.ts';
import { startRelay } from './start-relay.ts';

interface ContainerSummary {
  Id: string;
  State: string;
  Labels?: Record<string, string>;
}

/** The process that owns a container: a later one can have the same id, so it is used on the same host only. */
const owner = `${hostname()}:${process.pid}`;

/**
 * Runs each sandbox in a container of Docker or Podman.
 *
 * @param gateway id that the processes and restarts of a gateway share: `[A-Za-z0-9_-]`
 */
export function createDockerDriver(settings: DockerSettings, gateway: string): SandboxDriver {
  const client = new EngineClient(settings.socket);
  const running = new Set<Sandbox>();
  let isClosed = false;
  let podman: Promise<boolean> | undefined;
  const isPodman = (): Promise<boolean> => {
    podman ??= findPodman(client).catch((error) => {
      podman = undefined;
      throw error;
    });
    return podman;
  };

  const startContainer = async (spec: SandboxSpec): Promise<Sandbox> => {
    const labels = { [GATEWAY_LABEL]: gateway, [SANDBOX_LABEL]: spec.name, [OWNER_LABEL]: owner };
    const { limits } = spec;
    const proxySocket = readProxySocket(spec);
    if (proxySocket !== undefined) await openSocket(proxySocket);
    const plan = { settings, limits, proxySocket, labels, isPodman: await isPodman() };
    const created = (await client.call('POST', '/containers/create', describeContainer(plan))) as { Id: string }; // the API
    const container = new DockerContainer(client, created.Id);
    const sandbox = new RemoteSandbox(container, spec, {
      isHomeLimited: true,
      ...(proxySocket !== undefined && { environment: writeProxyEnvironment() }),
    });
    running.add(sandbox);
    sandbox.ended.addEventListener('abort', () => running.delete(sandbox), { once: true });
    try {
      await container.run(() => void endSandbox(sandbox, container));
      if (proxySocket !== undefined) await startRelay(container, sandbox.ended);
      await sandbox.open();
      return sandbox;
    } catch (error) {
      await sandbox.end('unavailable', 'The container of the sandbox did not start.').catch(() => {}); // that error matters more
      throw error;
    }
  };

  return {
    kind: 'docker',

    async probe() {
      try {
        await isPodman();
        await client.call('GET', `/images/${encodeURIComponent(settings.image)}/json`);
        return undefined;
      } catch (error) {
        return explainProblem(error as Error, settings); // call throws only errors
      }
    },

    async start(spec) {
      if (isClosed) throw new SandboxError('unavailable', 'The gateway is shutting down.');
      try {
        return await startContainer(spec);
      } catch (error) {
        if (error instanceof SandboxError) throw error;
        const proxySocket = spec.network?.proxySocket;
        const isLost = proxySocket !== undefined && (error as Error).message.includes(proxySocket);
        const message = isLost ? LOST_SOCKET : explainProblem(error as Error, settings);
        throw new SandboxError('unavailable', message, { cause: error });
      }
    },

    async removeLeftovers() {
      const filters = encodeURIComponent(JSON.stringify({ label: [`${GATEWAY_LABEL}=${gateway}`] }));
      const found = (await client.call('GET', `/containers/json?all=true&filters=${filters}`)) as ContainerSummary[];
      for (const { Id, State, Labels } of found) {
        if (isLeftover(State, Labels?.[OWNER_LABEL])) await removeDockerContainer(client, Id);
      }
    },

    async close() {
      isClosed = true;
      await Promise.all(Array.from(running, (sandbox) => sandbox.stop()));
    },
  };
}

const LOST_SOCKET =
  'The container service does not find the socket of the network proxy. The gateway and the service need the same /tmp.';

/**
 * Lets every user connect, because a service can map the user of a container to any other one. Other users of the host
 * cannot enter the folder of the socket: choice 600.
 */
async function openSocket(proxySocket: string): Promise<void> {
  try {
    await chmod(proxySocket, 0o666);
  } catch (error) {
    throw new SandboxError('unavailable', 'The socket of the network proxy does not exist.', { cause: error });
  }
}

async function findPodman(client: EngineClient): Promise<boolean> {
  const version = (await client.call('GET', '/version')) as { Components?: { Name?: string }[] };
  return version.Components?.some(({ Name }) => Name === 'Podman Engine') ?? false;
}

async function endSandbox(sandbox: RemoteSandbox, container: DockerContainer): Promise<void> {
  if (sandbox.ended.aborted) return;
  const lost = { problem: 'crashed', message: 'The connection to the container of the sandbox was lost.' } as const;
  const end = (await container.findEnd().catch(() => undefined)) ?? lost; // the service does not respond
  await sandbox.end(end.problem, end.message).catch(() => {}); // the container is a leftover then
}

/** Whether a container is of no use: it has ended, or the process that owns it has. */
function isLeftover(state: string, ownedBy = ''): boolean {
  if (state !== 'running' && state !== 'created') return true;
  const at = ownedBy.lastIndexOf(':');
  if (ownedBy.slice(0, at) !== hostname()) return false; // it ends without its gateway
  return !isProcessAlive(Number(ownedBy.slice(at + 1)));
}

function explainProblem(error: Error, { socket, image }: DockerSettings): string {
  if (!(error instanceof EngineError)) return 'The container of the sandbox did not start.';
  if (error.status === undefined) {
    return `${error.message} Start Docker or "podman system service", and set tools.sandbox.docker.socket (now ${socket}).`;
  }
  if (error.status === 404) {
    return `The image ${image} is not on this host. Run "docker pull ${image}", or set tools.sandbox.docker.image.`;
  }
  return `The container service rejected the sandbox: ${error.message}`;
}
