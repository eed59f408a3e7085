import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { testKeys } from '../../src/testing/index.ts';
import { bundleSource } from '../setup/bundle-source.ts';

const entry = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
const root = fileURLToPath(new URL('../..', import.meta.url));
const children = new Set<ChildProcess>();
const folders: string[] = [];

/** Ends every process and removes every folder of this file's tests. For `afterEach`. */
export async function cleanUp(): Promise<void> {
  for (const child of children) {
    if (isRunning(child)) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  }
  children.clear();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-lifecycle-'));
  folders.push(folder);
  return folder;
}

const isRunning = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null;

/** The bootstrap of a test gateway: workspace `main`, member `ada`, and the keys of `testKeys`. */
export const bootstrap = {
  workspaces: [{ id: '00000000-0000-4000-8000-0000000000a1', name: 'main' }],
  members: [{ id: 'ada', workspaces: ['main'] }],
  keys: [
    { key: testKeys.key, name: 'app', workspace: 'main', member: 'ada' },
    { key: testKeys.managementKey, name: 'admin', kind: 'management' },
  ],
};

/** A `headgate` process, running or ended. */
export interface Running {
  readonly child: ChildProcess;
  stdout: string;
  stderr: string;
  /** Exit code, or the signal that ended it. Resolves if all output is read. */
  readonly ended: Promise<number | string>;
}

export interface StartOptions {
  /** Default: a temporary folder, removed at the end. Contains `headgate.json` and the data folder `data`. */
  folder?: string;
  /** The configuration file. Default for `bootstrap`: that of the test gateway. Null: no file. */
  config?: Record<string, unknown> | null;
  args?: string[];
  /** Whether the port of the file counts. Otherwise it is a free one. */
  portOfFile?: boolean;
  env?: Record<string, string>;
  /** Runs as this user. */
  uid?: number;
  /** Whether to run `npm start`, as in a clone. */
  npm?: boolean;
  /** The folder of an installed package, which runs instead of the clone. */
  installed?: string;
}

/** Writes the file as editors do: a new file replaces the old one. */
export function writeConfig(folder: string, config: Record<string, unknown>): void {
  const next = join(folder, 'next');
  writeFileSync(next, JSON.stringify({ bootstrap, ...config }));
  renameSync(next, join(folder, 'headgate.json'));
}

/** The environment that npm needs to run without the network, and without the folders of the current user. */
const npmEnvironment = (home: string) => ({
  PATH: process.env.PATH,
  HOME: home,
  npm_config_update_notifier: 'false',
});

/** The compile cache and the bundle of the tests, for a process that inherits nothing else. */
export const compileCache = {
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
  NODE_OPTIONS: await bundleSource(),
};

/** Runs `headgate start`. */
export function run({
  folder = makeFolder(),
  config = {},
  portOfFile,
  args = [],
  env = {},
  uid,
  npm = false,
  installed,
}: StartOptions = {}): Running & {
  folder: string;
} {
  if (config) writeConfig(folder, config);
  const options: SpawnOptions = {
    cwd: folder,
    env: {
      HEADGATE_LOG_LEVEL: 'warn',
      ...(npm && npmEnvironment(folder)),
      ...env,
      NODE_COMPILE_CACHE: compileCache.NODE_COMPILE_CACHE,
      NODE_OPTIONS: [compileCache.NODE_OPTIONS, env['NODE_OPTIONS']].join(' '),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(uid === undefined ? undefined : { uid, gid: uid }),
  };
  const source = config ? ['--config', join(folder, 'headgate.json')] : [];
  const port = portOfFile ? [] : ['--port', '0'];
  const file = installed === undefined ? entry : join(installed, 'bin/headgate.js');
  const [program, ...first] = npm ? ['npm', 'start', '--prefix', root, '--'] : [process.execPath, file, 'start'];
  const child = spawn(program, [...first, ...port, '--data', join(folder, 'data'), ...source, ...args], options);
  children.add(child);
  const running = {
    folder,
    child,
    stdout: '',
    stderr: '',
    ended: once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string),
  };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    running.stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    running.stderr += text;
  });
  return running;
}

export interface GatewayProcess {
  readonly running: Running;
  readonly folder: string;
  readonly url: string;
  /** @param path under `/api/v1`, `/responses` by default */
  post(body: object, key?: string, path?: string): Promise<Response>;
  get(path: string, key?: string): Promise<Response>;
  /** Sends a signal and waits until the process has ended. */
  end(signal?: NodeJS.Signals): Promise<number | string>;
}

/** Runs `headgate start` and waits until it serves. @throws with its output if it ends instead */
export async function startGateway(options: StartOptions = {}): Promise<GatewayProcess> {
  const running = run(options);
  const { child, folder } = running;
  const isUp = Promise.withResolvers<void>();
  child.stdout?.on('data', () => running.stdout.includes('is up: ') && isUp.resolve());
  await Promise.race([isUp.promise, running.ended]);
  const url = /is up: (\S+)\n/.exec(running.stdout)?.[1];
  if (url === undefined) throw new Error(`headgate start ended with ${await running.ended}: ${running.stderr}`);
  const authorize = (key: string) => ({ authorization: `Bearer ${key}` });
  return {
    running,
    folder,
    url,
    post: (body, key = testKeys.key, path = '/responses') =>
      fetch(`${url}/api/v1${path}`, {
        method: 'POST',
        headers: { ...authorize(key), 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'simulator/echo', ...body }),
      }),
    get: (path, key = testKeys.key) => fetch(url + path, { headers: authorize(key) }),
    async end(signal = 'SIGTERM') {
      child.kill(signal);
      return running.ended;
    },
  };
}

/** Opens a streamed response, to be read piece by piece. */
export async function openStream(answer: Promise<Response>) {
  const response = await answer;
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  return {
    response,
    id: response.headers.get('x-generation-id')!,
    /** Reads until the text arrives, or the end. @returns everything read so far */
    async readUntil(wanted: string): Promise<string> {
      while (!text.includes(wanted)) {
        const { done, value } = await reader.read();
        if (done) break;
        text += value;
      }
      return text;
    },
    /** Reads to the end. */
    async readAll(): Promise<string> {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return text;
        text += value;
      }
    },
    cancel: () => reader.cancel(),
  };
}
