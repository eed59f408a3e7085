import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import type { ProcessListener, RemoteContainer, RemoteProcess } from '../remote/remote-process.ts';
import { HEARTBEAT_MS } from '../remote/scripts.ts';
import { type EngineClient, EngineError } from './engine-client.ts';
import { openExecStream } from './exec-stream.ts';

const MAX_TRIES = 6;
const RETRY_MS = 100;

interface ContainerState {
  State?: { Running?: boolean; OOMKilled?: boolean };
}

/** A container of the Docker Engine API. */
export class DockerContainer implements RemoteContainer {
  private readonly client: EngineClient;
  private readonly id: string;
  private keeper: Socket | undefined;
  private heartbeat: NodeJS.Timeout | undefined;

  constructor(client: EngineClient, id: string) {
    this.client = client;
    this.id = id;
  }

  /** Starts the container, with the connection that keeps it running. @param ended called when that connection ends */
  async run(ended: () => void): Promise<void> {
    const { socket } = await this.client.hijack(`/containers/${this.id}/attach?stream=1&stdin=1`);
    this.keeper = socket;
    socket.on('error', () => {}); // it closes next
    socket.once('end', () => socket.end());
    socket.once('close', ended);
    socket.resume();
    await this.client.call('POST', `/containers/${this.id}/start`);
    this.heartbeat = setInterval(() => socket.write('\n'), HEARTBEAT_MS);
    this.heartbeat.unref();
  }

  async start(command: readonly string[], listener: ProcessListener): Promise<RemoteProcess> {
    const created = (await this.client.call('POST', `/containers/${this.id}/exec`, {
      AttachStdin: true,
      AttachStdout: true,
      AttachStderr: true,
      Tty: false,
      User: '1000:1000',
      WorkingDir: '/',
      Cmd: command,
    })) as { Id: string }; // the API
    const { socket, head } = await this.client.hijack(`/exec/${created.Id}/start`, { Detach: false, Tty: false });
    return openExecStream(socket, head, listener);
  }

  async findEnd() {
    let state: ContainerState;
    try {
      state = (await this.client.call('GET', `/containers/${this.id}/json`)) as ContainerState; // the API
    } catch (error) {
      if (error instanceof EngineError && error.status === 404) return crashed;
      throw error;
    }
    if (state.State?.Running) return undefined;
    return state.State?.OOMKilled ? outOfMemory : crashed;
  }

  async remove(): Promise<void> {
    clearInterval(this.heartbeat);
    try {
      await removeDockerContainer(this.client, this.id);
    } finally {
      this.keeper?.destroy();
    }
  }
}

const crashed = { problem: 'crashed', message: 'The container of the sandbox has ended.' } as const;
const outOfMemory = {
  problem: 'memory',
  message: 'The sandbox used more memory than it may, so it was stopped.',
} as const;

/** Removes a container, if it exists. */
export async function removeDockerContainer(client: EngineClient, id: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await client.call('DELETE', `/containers/${id}?force=true&v=true`);
      return;
    } catch (error) {
      const status = error instanceof EngineError ? error.status : undefined;
      if (status === 404) return;
      // 409: it is being removed. 500 of Podman: it is ending by itself.
      if (tries === MAX_TRIES || (status !== 409 && status !== 500)) throw error;
      await setTimeout(tries * RETRY_MS);
    }
  }
}
