import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import type { RemoteContainer } from './remote-process.ts';
import { SessionKiller } from './session-killer.ts';

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** Runs the processes of a container on the host. */
function createHostContainer(): RemoteContainer & { started: ChildProcess[] } {
  const started: ChildProcess[] = [];
  return {
    started,
    async start([program, ...options], listener) {
      const child = spawn(program!, options, { stdio: ['pipe', 'pipe', 'ignore'] });
      children.push(child);
      started.push(child);
      child.stdin!.on('error', () => {}); // it has ended
      child.stdout!.on('data', (bytes: Buffer) => listener.output('stdout', bytes));
      child.once('close', () => listener.closed());
      return {
        write: async (bytes) => void child.stdin!.write(bytes),
        close: () => void child.stdin!.end(),
      };
    },
    findEnd: async () => undefined,
    remove: async () => {},
  };
}

/** Starts a session of two processes. Its id is the process id. */
async function startSession(): Promise<ChildProcess & { closed: Promise<unknown> }> {
  // Both processes have the output open, so it closes when both have ended.
  const child = spawn('bash', ['-c', 'sleep 1000 & echo begun; wait'], { detached: true });
  const closed = once(child, 'close');
  children.push(child);
  await once(child.stdout, 'data');
  return Object.assign(child, { closed });
}

describe.runIf(process.platform === 'linux')('the killer of sessions', () => {
  it('kills all processes of a session without a new process', async () => {
    const container = createHostContainer();
    const killer = new SessionKiller(container);
    await Promise.all([killer.prepare(), killer.prepare()]);
    for (const session of [await startSession(), await startSession()]) {
      await killer.kill(session.pid!, 60_000);
      await session.closed;
    }
    expect(container.started.length).toBe(1);
    const ended = once(container.started[0]!, 'exit');
    killer.close();
    expect(await ended).toEqual([0, null]);
  });

  it('starts a process for one session if its own was killed, and has its own again later', async () => {
    const container = createHostContainer();
    const killer = new SessionKiller(container);
    await killer.prepare();
    const ended = once(container.started[0]!, 'close');
    container.started[0]!.kill('SIGKILL');
    await ended;
    const session = await startSession();
    await killer.kill(session.pid!, 60_000);
    await session.closed;
    expect(container.started.length).toBe(2);
    await killer.prepare();
    expect(container.started.length).toBe(3);
    killer.close();
  });

  it('reports that no process can start', async () => {
    const container = createHostContainer();
    container.start = async () => {
      throw new Error('no process is free');
    };
    const killer = new SessionKiller(container);
    await killer.prepare();
    await expect(killer.kill(1, 60_000)).rejects.toThrow('no process is free');
  });
});
