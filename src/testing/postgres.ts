import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { chown, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { canRun } from './can-run.ts';
import { findFreePort } from './free-port.ts';
import { patient } from './patience.ts';

const readyWithinMs = patient(90_000);

/** A server for tests. */
export interface TestPostgres {
  /** URL of the database `postgres`, whose user may create other databases. */
  url: string;
  /** Creates an empty database. @returns its URL */
  createDatabase(): Promise<string>;
  /** Ends the server at once, like a crash: unlogged tables are empty after the next start. */
  crash(): Promise<void>;
  /** Starts it again, at the same URL. */
  start(): Promise<void>;
  /** Ends the server and removes its files. */
  stop(): Promise<void>;
}

/**
 * Starts the installed PostgreSQL (the newest of Debian's, or the one on PATH) with a new, empty cluster in a temporary
 * folder, on a free port of the loopback. Its writes are not durable. As root it runs as user `postgres` or `nobody`,
 * because PostgreSQL rejects root.
 *
 * @returns `skipped`: the reason why this machine cannot run one
 * @throws if it is installed and does not start
 */
export async function startPostgres(): Promise<TestPostgres | { skipped: string }> {
  const programs = findPrograms();
  if (programs === undefined)
    return { skipped: 'PostgreSQL is not installed: no initdb in /usr/lib/postgresql or PATH' };
  const isRoot = process.getuid?.() === 0;
  const user = isRoot ? await findUser(['postgres', 'nobody']) : undefined;
  if (isRoot && user === undefined) {
    return { skipped: 'PostgreSQL does not run as root, and there is no user postgres or nobody' };
  }

  const folder = await mkdtemp(join(tmpdir(), 'headgate-postgres-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    if (user !== undefined) await chown(folder, user.uid, user.gid);
    const options: SpawnOptions = {
      uid: user?.uid,
      gid: user?.gid,
      cwd: folder,
      env: { PATH: process.env.PATH, LC_ALL: 'C' },
    };
    const data = join(folder, 'data');
    await run(join(programs, 'initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '-N'], options);

    const program = join(programs, 'postgres');
    const server = await startServer(program, data, folder, options);
    const killNow = () => server.process.kill('SIGKILL');
    process.once('exit', killNow); // stop() was not called
    let databases = 0;
    return {
      url: server.url,
      async createDatabase() {
        const name = `test_${++databases}`;
        const { default: pg } = await import('pg');
        const client = new pg.Client({ connectionString: server.url });
        await client.connect();
        await client.query(`create database ${name}`);
        await client.end();
        return new URL(`/${name}`, server.url).href;
      },
      crash: () => end(server.process, 'SIGQUIT'),
      async start() {
        server.process = (await startServer(program, data, folder, options, Number(new URL(server.url).port))).process;
      },
      stop: async () => {
        process.off('exit', killNow);
        await end(server.process);
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** The folder of `initdb` and `postgres`. */
function findPrograms(): string | undefined {
  const version = (path: string) => Number(/postgresql\/([\d.]+)\//.exec(path)?.[1] ?? 0);
  const debian = globSync('/usr/lib/postgresql/*/bin').sort((a, b) => version(b) - version(a));
  const path = (process.env.PATH ?? '').split(delimiter);
  return [...debian, ...path].find((folder) => ['initdb', 'postgres'].every((name) => canRun(join(folder, name))));
}

async function findUser(names: string[]): Promise<{ uid: number; gid: number } | undefined> {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  const line = names.map((name) => lines.find((fields) => fields[0] === name)).find((fields) => fields !== undefined);
  return line && { uid: Number(line[2]), gid: Number(line[3]) };
}

/** Another process may take the free port before the server does. Then it tries another port. */
async function startServer(
  program: string,
  data: string,
  socketFolder: string,
  options: SpawnOptions,
  wantedPort?: number,
) {
  let log = '';
  for (let attempt = 1; attempt <= 5; attempt++) {
    const port = wantedPort ?? (await findFreePort());
    const settings = { port, listen_addresses: '127.0.0.1', unix_socket_directories: socketFolder, fsync: 'off' };
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const child = spawn(program, ['-D', data, ...flags], { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-4000);
    });
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    if (await waitUntilReady(child, url)) return { url, process: child };
    await end(child);
  }
  throw new Error(`PostgreSQL does not start. The end of its log:\n${log}`);
}

/** @returns false if the server ended, or took too long */
async function waitUntilReady(server: ChildProcess, url: string): Promise<boolean> {
  const { default: pg } = await import('pg');
  for (const deadline = Date.now() + readyWithinMs; Date.now() < deadline && isRunning(server); ) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1000 });
    client.on('error', () => {}); // connect() reports it
    try {
      await client.connect();
      await client.end();
      return true;
    } catch {
      await delay(20); // until the next poll
    }
  }
  return false;
}

async function run(program: string, args: string[], options: SpawnOptions): Promise<void> {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${program} ended with status ${code}:\n${log}`);
}

const isRunning = (child: ChildProcess) => child.exitCode === null && child.signalCode === null;

/** SIGINT is PostgreSQL's fast shutdown: it disconnects clients and removes its files. SIGQUIT is the immediate one. */
async function end(child: ChildProcess, signal: 'SIGINT' | 'SIGQUIT' = 'SIGINT'): Promise<void> {
  if (!isRunning(child)) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}
