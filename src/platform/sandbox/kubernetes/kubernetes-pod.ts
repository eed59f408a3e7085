import { setTimeout } from 'node:timers/promises';
import type { WebSocket } from 'undici';
import type { ProcessListener, RemoteContainer, RemoteProcess } from '../remote/remote-process.ts';
import { HEARTBEAT_MS } from '../remote/scripts.ts';
import { CONTAINER } from './describe-pod.ts';
import { type KubeClient, KubeError } from './kube-client.ts';
import { openPodStream } from './pod-stream.ts';

const POLL_MS = 250;
const START_MS = 180_000;
const REATTACH_MS = 1000;
/** Reasons of a container that waits, and will not start. */
const failures = [
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'CreateContainerConfigError',
  'CreateContainerError',
];

export interface Pod {
  metadata: { name: string; uid: string; annotations?: Record<string, string> };
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    containerStatuses?: {
      state?: { waiting?: { reason?: string; message?: string }; terminated?: { reason?: string } };
    }[];
  };
}

/** A pod that cannot start. */
export class PodError extends Error {
  override readonly name = 'PodError';
}

/** The pod of a sandbox. */
export class KubernetesPod implements RemoteContainer {
  private readonly client: KubeClient;
  private readonly name: string;
  private readonly removal = new AbortController();
  private keeper: WebSocket | undefined;

  constructor(client: KubeClient, name: string) {
    this.client = client;
    this.name = name;
  }

  /** Waits until the pod runs, and keeps it running. @param ended called when it has ended */
  async run(ended: () => void): Promise<void> {
    await this.waitUntilRunning();
    await this.attach();
    void this.keep().then(ended, ended);
  }

  async start(command: readonly string[], listener: ProcessListener): Promise<RemoteProcess> {
    const query = new URLSearchParams({ container: CONTAINER, stdin: 'true', stdout: 'true', stderr: 'true' });
    for (const part of command) query.append('command', part);
    return openPodStream(await this.client.connect(`pods/${this.name}/exec?${query}`), listener);
  }

  async findEnd() {
    const pod = await this.find();
    const { phase, reason, message, containerStatuses } = pod?.status ?? {};
    if (pod && phase === 'Running') return undefined;
    if (containerStatuses?.[0]?.state?.terminated?.reason === 'OOMKilled') return outOfMemory;
    if (reason === 'Evicted')
      return { problem: 'disk', message: `The pod of the sandbox was evicted: ${message}` } as const;
    return { problem: 'crashed', message: `The pod of the sandbox has ended${reason ? ` (${reason})` : ''}.` } as const;
  }

  async remove(): Promise<void> {
    this.removal.abort();
    try {
      await removePod(this.client, this.name);
    } finally {
      this.keeper?.close();
    }
  }

  private async waitUntilRunning(): Promise<void> {
    for (const until = Date.now() + START_MS; ; ) {
      const pod = await this.find();
      const { phase, containerStatuses } = pod?.status ?? {};
      if (phase === 'Running') return;
      const waiting = containerStatuses?.[0]?.state?.waiting;
      if (waiting && failures.includes(waiting.reason ?? '')) {
        throw new PodError(`The pod of the sandbox cannot start (${waiting.reason}): ${waiting.message ?? ''}`);
      }
      if (!pod || phase === 'Failed' || phase === 'Succeeded') throw new PodError('The pod of the sandbox has ended.');
      if (Date.now() > until) throw new PodError(`The pod of the sandbox did not start within ${START_MS / 1000} s.`);
      await setTimeout(POLL_MS, undefined, { signal: this.removal.signal });
    }
  }

  private async attach(): Promise<void> {
    const query = new URLSearchParams({ container: CONTAINER, stdin: 'true', stdout: 'false', stderr: 'false' });
    this.keeper = await this.client.connect(`pods/${this.name}/attach?${query}`);
  }

  /** Sends signs of life until the pod has ended. Streams of a cluster can break, so it attaches again. */
  private async keep(): Promise<void> {
    const { signal } = this.removal;
    while (!signal.aborted) {
      const keeper = this.keeper!;
      const stream = openPodStream(keeper, { output() {}, closed() {} });
      const closed = new AbortController();
      keeper.addEventListener('close', () => closed.abort(), { once: true });
      while (keeper.readyState === keeper.OPEN) {
        await stream.write(Buffer.from('\n')).catch(() => {}); // it has closed
        await setTimeout(HEARTBEAT_MS, undefined, { signal: closed.signal, ref: false }).catch(() => {}); // it has closed
      }
      if (signal.aborted || (await this.findEnd())) return;
      await setTimeout(REATTACH_MS, undefined, { signal, ref: false });
      await this.attach();
    }
  }

  private async find(): Promise<Pod | undefined> {
    try {
      return (await this.client.call('GET', `pods/${this.name}`)) as Pod; // the API
    } catch (error) {
      if (error instanceof KubeError && error.status === 404) return undefined;
      throw error;
    }
  }
}

const outOfMemory = {
  problem: 'memory',
  message: 'The sandbox used more memory than it may, so it was stopped.',
} as const;

/** Removes a pod, if it exists. */
export async function removePod(client: KubeClient, name: string): Promise<void> {
  try {
    await client.call('DELETE', `pods/${name}?gracePeriodSeconds=0`);
  } catch (error) {
    if (!(error instanceof KubeError && error.status === 404)) throw error;
  }
}
