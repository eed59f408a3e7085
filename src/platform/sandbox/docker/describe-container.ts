import { dirname } from 'node:path';
import { PROXY_SOCKET } from '../network-relay.ts';
import { KEEPER } from '../remote/scripts.ts';
import { SANDBOX_HOME, type SandboxLimits } from '../sandbox.ts';

/** How containers of sandboxes are created. */
export interface DockerSettings {
  /** Unix socket of the service. */
  socket: string;
  image: string;
  /** OCI runtime, such as `runsc`. Absent: that of the service. */
  runtime?: string;
}

export const GATEWAY_LABEL = 'headgate.gateway';
export const SANDBOX_LABEL = 'headgate.sandbox';
export const OWNER_LABEL = 'headgate.owner';

const MIB = 1024 * 1024;
const OPEN_FILES = 1024;
/** Processes of the gateway in a container. */
const OWN_PROCESSES = 9;
const RELAY_PROCESSES = 2;
/** For the folders that programs expect to be writable. */
const SMALL = 'rw,nosuid,nodev,noexec,size=1m';

interface ContainerPlan {
  settings: DockerSettings;
  limits: SandboxLimits;
  /** Undefined: it has no network. */
  proxySocket: string | undefined;
  labels: Readonly<Record<string, string>>;
  isPodman: boolean;
}

/** Writes the body of a request that creates a container. */
export function describeContainer({ settings, limits, proxySocket, labels, isPodman }: ContainerPlan): unknown {
  const { memoryBytes, diskBytes, temporaryBytes } = limits;
  // The home folder and /tmp are in memory, where the kernel limits their sizes, and count as memory: choice 530.
  const memory = memoryBytes + diskBytes + temporaryBytes;
  const entries = isPodman ? '' : `,nr_inodes=${limits.diskEntries + 16}`; // Podman has no such option: listings check it
  return {
    Image: settings.image,
    Entrypoint: ['bash', '-c', KEEPER],
    Cmd: [],
    User: '1000:1000',
    WorkingDir: '/',
    Env: [`HOME=${SANDBOX_HOME}`],
    Labels: labels,
    OpenStdin: true,
    // The container ends when its only connection does, so none outlives the gateway: choice 532.
    StdinOnce: true,
    AttachStdin: true,
    NetworkDisabled: true,
    HostConfig: {
      NetworkMode: 'none',
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      Privileged: false,
      PidsLimit: limits.processes + OWN_PROCESSES + (proxySocket === undefined ? 0 : RELAY_PROCESSES),
      Memory: memory,
      MemorySwap: memory,
      NanoCpus: Math.round(limits.cpus * 1e9),
      ...(settings.runtime && { Runtime: settings.runtime }),
      Ulimits: [
        { Name: 'nofile', Soft: OPEN_FILES, Hard: OPEN_FILES },
        { Name: 'nproc', Soft: 32_768, Hard: 32_768 },
        { Name: 'core', Soft: 0, Hard: 0 },
      ],
      Tmpfs: {
        [dirname(SANDBOX_HOME)]: `rw,nosuid,nodev,exec,mode=0777,size=${diskBytes}${entries}`,
        '/tmp': `rw,nosuid,nodev,exec,mode=1777,size=${temporaryBytes}`,
        '/run': SMALL,
        '/var/tmp': `${SMALL},mode=1777`,
      },
      // Unlike `Binds`, it does not create what is missing.
      ...(proxySocket !== undefined && {
        Mounts: [{ Type: 'bind', Source: proxySocket, Target: PROXY_SOCKET, ReadOnly: true }],
      }),
      ShmSize: 16 * MIB,
      IpcMode: 'private',
      LogConfig: { Type: 'none' },
      RestartPolicy: { Name: 'no' },
    },
  };
}
