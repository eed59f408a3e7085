import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCli } from './program.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const entry = join(root, 'src/cli.ts');
let cwd: string;
beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'headgate-loading-'));
  const output = { write: () => {} };
  await runCli(['keys', 'create'], { stdout: output, stderr: output, env: {}, cwd }); // creates a store with a workspace
});
afterAll(() => rmSync(cwd, { recursive: true }));

/** Writes the URLs of all modules that the process loads. */
const recorder = `
import { registerHooks } from 'node:module';
import { writeFileSync } from 'node:fs';
const urls = [];
registerHooks({ load(url, context, next) { urls.push(url); return next(url, context); } });
process.on('exit', () => writeFileSync('loaded.json', JSON.stringify(urls)));`;

/** Runs a command in a new process. @returns the packages and the folders of src/ that it loads */
function listLoaded(args: string[], env: NodeJS.ProcessEnv = {}): string[] {
  const preload = `data:text/javascript,${encodeURIComponent(recorder)}`;
  const { status, stderr } = spawnSync(process.execPath, ['--import', preload, entry, ...args], { cwd, env });
  expect(status, String(stderr)).toBe(0);
  const urls = JSON.parse(readFileSync(join(cwd, 'loaded.json'), 'utf8')) as string[];
  const names = urls.flatMap((url) => {
    if (!url.startsWith('file:')) return [];
    const path = relative(root, fileURLToPath(url));
    const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path) ?? [];
    return [name ?? path.split('/').slice(0, 2).join('/')];
  });
  return [...new Set(names)].toSorted();
}

// Loading modules is nearly all of the CPU time of a command, and a count does not depend on the machine.
it.each([['--help'], ['keys', '--help']])('headgate %s %s loads only the commands', (...args) => {
  const loaded = listLoaded(args);
  expect(loaded.filter((name) => !name.startsWith('src/'))).toEqual(['commander']);
});

it('headgate --version loads no command', () => {
  expect(listLoaded(['--version'])).toEqual(['src/cli', 'src/cli.ts', 'src/platform']);
});

it.each([
  'keys list',
  'requests',
  'budgets',
  'credits show',
  'containers list',
])('headgate %s loads the configuration and the store, and no gateway', (command) => {
  const loaded = listLoaded(command.split(' '));
  expect(loaded).toEqual(expect.arrayContaining(['src/config', 'kysely']));
  for (const name of ['undici', 'fastify', 'pino', 'pg', 'sharp', 'src/api', 'src/pipeline', 'src/gateway.ts']) {
    expect(loaded, name).not.toContain(name);
  }
});

const resources = ['members list', 'files list', 'guardrails list', 'presets list', 'workspaces list'];
it.each([
  ...resources,
  'interns list',
  'vault list',
])('headgate %s loads the routes of resources, and no gateway', (command) => {
  const loaded = listLoaded(command.split(' '));
  expect(loaded).toEqual(expect.arrayContaining(['src/api', 'src/config', 'kysely']));
  for (const name of ['undici', 'fastify', 'pino', 'pg', 'sharp', 'src/pipeline', 'src/gateway.ts']) {
    expect(loaded, name).not.toContain(name);
  }
});

it.each(['keys list', 'requests', 'credits show'])('headgate %s loads no schema without a configuration', (command) => {
  const loaded = listLoaded(command.split(' '));
  for (const name of ['typebox', 'yaml', 'src/schema']) expect(loaded, name).not.toContain(name);
});

it('headgate keys list loads no use cases of management', () => {
  expect(listLoaded(['keys', 'list'])).not.toContain('src/management');
});

it('a configuration is checked again when it, or a variable that it names, has changed', () => {
  const file = join(cwd, 'headgate.yaml');
  const list = (env = {}) => listLoaded(['keys', 'list'], env);
  try {
    writeFileSync(file, `server: { host: "$\{PLACE}" }\n`);
    const here = { PLACE: '127.0.0.1' };
    expect(list(here)).toContain('typebox');
    expect(list(here)).not.toContain('typebox');
    expect(list({ PLACE: '127.0.0.2' })).toContain('typebox');
    expect(list({ PLACE: '127.0.0.2', HEADGATE_STORAGE_URL: 'file:<data>/headgate.db' })).toContain('typebox');
    writeFileSync(file, 'server: { port: 1 }\nunknown: 1\n');
    for (const _ of [1, 2]) expect(list()).toContain('typebox'); // its error is printed each time
    writeFileSync(file, 'storage: { url: "file:other.db" }\n');
    for (const _ of [1, 2]) expect(list()).toContain('typebox');
    writeFileSync(file, 'server: { host: "127.0.0.1" }\n');
    expect(list()).toContain('typebox');
    expect(list()).not.toContain('typebox');
  } finally {
    rmSync(file);
  }
});
