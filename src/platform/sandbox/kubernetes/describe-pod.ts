import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { KEEPER } from '../remote/scripts.ts';
import { SANDBOX_HOME, type SandboxLimits } from '../sandbox.ts';

/** How pods of sandboxes are created. */
export interface PodSettings {
  image: string;
  /** Name of a RuntimeClass, such as `gvisor`. */
  runtimeClass?: string;
  /** Where the home folder is. `memory`: it counts as memory, and its size is enforced immediately. */
  home: 'disk' | 'memory';
}

export const CONTAINER = 'sandbox';
export const GATEWAY_LABEL_KEY = 'headgate.gateway';
export const OWNER_ANNOTATION = 'headgate.owner';
const SANDBOX_ANNOTATION = 'headgate.sandbox';
export const POD_LABELS = { 'app.kubernetes.io/managed-by': 'headgate', 'app.kubernetes.io/component': 'sandbox' };

/** Kubernetes ends a pod that is older, whatever happened to its gateway. */
const MAX_SECONDS = 6 * 60 * 60;
const MIB = 1024 * 1024;
const FIRST_USER = 100_000;
const USERS = 1_000_000_000;

interface PodPlan {
  settings: PodSettings;
  limits: SandboxLimits;
  sandbox: string;
  gateway: string;
  owner: string;
  /** Labels besides those of every sandbox. */
  labels?: Readonly<Record<string, string>>;
}

/** Writes the pod of a sandbox. */
export function describePod({ settings, limits, sandbox, gateway, owner, labels }: PodPlan): unknown {
  const { memoryBytes, diskBytes, temporaryBytes, cpus } = limits;
  const isInMemory = settings.home === 'memory';
  const user = chooseUser(sandbox);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      generateName: 'headgate-sandbox-',
      labels: { ...POD_LABELS, [GATEWAY_LABEL_KEY]: gateway, ...labels },
      annotations: { [SANDBOX_ANNOTATION]: sandbox, [OWNER_ANNOTATION]: owner },
    },
    spec: {
      restartPolicy: 'Never',
      activeDeadlineSeconds: MAX_SECONDS,
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      // The resolution of names fails immediately, and no query leaves the pod: choice 773.
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['127.0.0.1'], options: [{ name: 'attempts', value: '1' }] },
      ...(settings.runtimeClass && { runtimeClassName: settings.runtimeClass }),
      securityContext: {
        runAsNonRoot: true,
        runAsUser: user,
        runAsGroup: user,
        fsGroup: user,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      containers: [
        {
          name: CONTAINER,
          image: settings.image,
          command: ['bash', '-c', KEEPER],
          workingDir: '/',
          stdin: true, // the keeper ends without signs of life on it
          securityContext: {
            allowPrivilegeEscalation: false,
            capabilities: { drop: ['ALL'] },
            readOnlyRootFilesystem: true,
          },
          resources: {
            limits: {
              cpu: String(cpus),
              memory: String(memoryBytes + temporaryBytes + (isInMemory ? diskBytes : 0)),
              'ephemeral-storage': String((isInMemory ? 0 : diskBytes) + 64 * MIB),
            },
            requests: { cpu: '50m', memory: String(Math.min(memoryBytes, 128 * MIB)) },
          },
          volumeMounts: [
            { name: 'workspace', mountPath: dirname(SANDBOX_HOME) },
            { name: 'temporary', mountPath: '/tmp' },
          ],
        },
      ],
      volumes: [
        { name: 'workspace', emptyDir: { sizeLimit: String(diskBytes), ...(isInMemory && { medium: 'Memory' }) } },
        { name: 'temporary', emptyDir: { sizeLimit: String(temporaryBytes), medium: 'Memory' } },
      ],
    },
  };
}

/** Its own user, because the kernel counts processes by user: choice 534. */
function chooseUser(sandbox: string): number {
  return FIRST_USER + (createHash('sha256').update(sandbox).digest().readUInt32BE() % USERS);
}
