import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { BubblewrapDriver } from '../../src/platform/sandbox/bubblewrap/bubblewrap-driver.ts';
import { escapeAttempts } from './attempts.ts';
import { type AttemptResults, type AttemptsToRun, runAttempts } from './run-attempts.ts';
import { patient } from '../../src/testing/patience.ts';

const root = join(import.meta.dirname, '../..');
/** An ordinary user without a name. */
const OTHER_USER = 61_000;
const isRoot = process.getuid?.() === 0;

const folder = mkdtempSync(join(tmpdir(), 'headgate-escape-'));
chmodSync(folder, 0o755);
const secretFolder = join(folder, 'secrets');
mkdirSync(secretFolder);
writeFileSync(join(secretFolder, 'secret'), 'the secret\n');
/** A file that the parent of the gateway could have left open. */
const inherited = openSync(join(secretFolder, 'secret'), 'r');

const makeFolder = (name: string, user?: number): string => {
  const path = join(folder, name);
  mkdirSync(path);
  chmodSync(path, 0o711);
  if (user !== undefined) chownSync(path, user, user);
  return path;
};

const probe = new BubblewrapDriver({ folder: makeFolder('probe'), hidden: [] });
const problem = await probe.probe();
await probe.close();

describe.skipIf(problem !== undefined)(`escapes${problem === undefined ? '' : `, skipped: ${problem}`}`, () => {
  const servers: Server[] = [];
  let connections = 0;
  const victim = spawn('sleep', ['10000'], {
    stdio: 'ignore',
    env: { ...process.env, HOST_SECRET: 'HOST_SECRET_VALUE' },
  });
  const environment: Record<string, string> = {};

  async function listen(place: { path: string } | { port: number; host: string }): Promise<Server> {
    const server = createServer((socket) => {
      connections++;
      socket.end();
    });
    servers.push(server.listen(place));
    await once(server, 'listening');
    return server;
  }

  beforeAll(async () => {
    const server = await listen({ port: 0, host: '127.0.0.1' });
    const address = server.address() as { port: number };
    const abstract = `headgate-escape-${process.pid}`;
    await listen({ path: join(folder, 'socket') });
    chmodSync(join(folder, 'socket'), 0o777);
    await listen({ path: `\0${abstract}` });
    const own = Object.values(networkInterfaces())
      .flat()
      .find((one) => one && !one.internal && one.family === 'IPv4');
    Object.assign(environment, {
      HOST_PID: String(victim.pid),
      HOST_PORT: String(address.port),
      HOST_ADDRESS: own?.address ?? '127.0.0.2',
      SECRET_FOLDER: secretFolder,
      SECRET_FILE: join(secretFolder, 'secret'),
      DATA_FOLDER: folder,
      UNIX_SOCKET: join(folder, 'socket'),
      ABSTRACT_SOCKET: abstract,
    });
  });
  afterAll(() => {
    victim.kill('SIGKILL');
    for (const server of servers) server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('are many, and each has a name of its own', () => {
    expect(new Set(escapeAttempts.map(({ name }) => name)).size).toBe(escapeAttempts.length);
    expect(escapeAttempts.length).toBeGreaterThan(100);
  });

  const harmless = escapeAttempts.filter(({ outside }) => outside);
  it.each(harmless)('outside of a sandbox, this works: $name', ({ command, outside }) => {
    const { status, stdout, stderr } = spawnSync('bash', ['-c', command], {
      env: { ...environment, PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
      cwd: folder,
      encoding: 'latin1',
      timeout: patient(60_000),
    });
    expect(`exit=${status}\n${stdout}\n${stderr}`).toMatch(outside!);
  });

  const users: [string, boolean, () => Promise<AttemptResults>][] = [
    ['this user', true, () => runAttempts(describeRun(makeFolder('own')))],
    ['an ordinary user', isRoot, () => runAsOther(describeRun(makeFolder('other', OTHER_USER)))],
  ];
  /** The results by user. The runs share nothing, and mostly wait: they run at the same time. */
  let results: Promise<Map<string, AttemptResults>> | undefined;
  const runForAll = async (): Promise<Map<string, AttemptResults>> => {
    await vi.waitUntil(() => connections === 3); // those from outside
    const runs = users.filter(([, isPossible]) => isPossible);
    return new Map(await Promise.all(runs.map(async ([user, , run]) => [user, await run()] as const)));
  };
  describe.each(users)('of a gateway of %s', (user, runs) => {
    if (!runs) {
      it.skip('is the same here', () => {});
      return;
    }
    let done: AttemptResults;
    beforeAll(async () => {
      results ??= runForAll();
      done = (await results).get(user)!;
    }, patient(600_000));

    it.each(escapeAttempts)('contains: $name', ({ name, contained }) => {
      expect(done.results[name]).toMatch(contained);
    });

    it('leaves the host as it was', () => {
      expect(done.stillWorks).toBe(true);
      expect(connections).toBe(3);
      expect(victim.exitCode ?? victim.signalCode).toBeNull();
      expect(listRunning('escape-left-behind')).toEqual([]);
    });
  });

  /** Command lines of processes of the host that contain a text. */
  function listRunning(marker: string): string[] {
    return globSync('/proc/[0-9]*/cmdline').flatMap((path) => {
      try {
        const line = readFileSync(path, 'latin1');
        return line.includes(marker) ? [line] : [];
      } catch {
        return []; // it has ended
      }
    });
  }

  function describeRun(place: string): AttemptsToRun {
    const attempts = escapeAttempts.map((attempt) => ({ ...attempt, timeoutMs: patient(attempt.timeoutMs ?? 30_000) }));
    return { folder: place, hidden: [root], environment, attempts };
  }

  /** Runs the driver as another user, from a copy that this user can read. */
  async function runAsOther(parts: AttemptsToRun): Promise<AttemptResults> {
    const copy = join(folder, 'copy');
    for (const path of ['src/domain', 'src/platform/sandbox', 'src/platform/threads', 'tests/sandbox'])
      cpSync(join(root, path), join(copy, path), { recursive: true });
    writeFileSync(join(copy, 'package.json'), '{"type":"module"}');
    const child = spawn(process.execPath, [join(copy, 'tests/sandbox/run-attempts.ts')], {
      stdio: ['pipe', 'pipe', 'inherit', 'ignore', inherited],
      uid: OTHER_USER,
      gid: OTHER_USER,
      cwd: '/',
      env: { PATH: process.env['PATH'], HEADGATE_SECRET: 'x' },
    });
    child.stdin!.end(JSON.stringify(parts));
    return JSON.parse(await text(child.stdout!)) as AttemptResults;
  }
});
