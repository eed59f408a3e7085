import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { canRun } from './can-run.ts';
import { findFreePort } from './free-port.ts';

/** A server for tests. */
export interface TestRedis {
  /** `redis://127.0.0.1:PORT`; the same after `kill` and `start`. */
  url: string;
  /** Ends it at once. Its data is lost. */
  kill(): Promise<void>;
  /** Starts it again, empty. */
  start(): Promise<void>;
  /** Removes all data, and keeps connections. */
  flush(): Promise<void>;
  /** Ends it and removes its files. */
  stop(): Promise<void>;
}

/**
 * Starts the installed Valkey or Redis (on PATH) on a free port of the loopback, without persistence.
 *
 * @param flags of the program, such as `--cluster-enabled yes`
 * @returns `skipped`: the reason why this machine cannot run one
 * @throws if it is installed and does not start
 */
export async function startRedis({
  flags = [],
  sentinel,
}: {
  flags?: readonly string[];
  /** The configuration of a Sentinel, which starts instead of a server. */
  sentinel?: string;
} = {}): Promise<TestRedis | { skipped: string }> {
  const program = findProgram(['valkey-server', 'redis-server']);
  if (program === undefined) return { skipped: 'Neither valkey-server nor redis-server is on PATH' };
  const folder = await mkdtemp(join(tmpdir(), 'headgate-redis-'));
  let port: number | undefined;
  let child: ChildProcess | undefined;
  const killNow = () => child?.kill('SIGKILL');
  process.once('exit', killNow); // stop() was not called

  async function start(): Promise<void> {
    // Another process may take the free port before the server does. Then it tries another port.
    for (let attempt = 1; attempt <= 5; attempt++) {
      const wanted = port ?? (await findFreePort());
      const file = sentinel === undefined ? [] : [join(folder, 'sentinel.conf'), '--sentinel'];
      if (sentinel !== undefined) await writeFile(file[0]!, sentinel);
      const usual = ['--port', String(wanted), '--bind', '127.0.0.1', '--dir', folder];
      const memory = sentinel === undefined ? ['--save', ''] : [];
      child = spawn(program!, [...file, ...usual, ...memory, ...flags], {
        stdio: ['ignore', 'pipe', 'ignore'],
        env: {},
      });
      if (await isReady(child)) {
        port = wanted;
        return;
      }
    }
    throw new Error(`${program} does not start.`);
  }
  async function kill(): Promise<void> {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    start,
    kill,
    async flush() {
      const socket = connect(port!, '127.0.0.1');
      socket.write('FLUSHALL\r\n');
      await once(socket, 'data');
      socket.destroy();
    },
    async stop() {
      process.off('exit', killNow);
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function findProgram(names: readonly string[]): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(canRun);
}

/** @returns false if the server ended before it was ready */
function isReady(child: ChildProcess): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  let said = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    said += text;
    if (/ready to accept connections|Sentinel ID is/i.test(said)) resolve(true);
  });
  child.once('exit', () => resolve(false));
  return promise;
}
