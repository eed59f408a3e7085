import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
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
function listLoaded(args: string[]): string[] {
  const preload = `data:text/javascript,${encodeURIComponent(recorder)}`;
  const { status, stderr } = spawnSync(process.execPath, ['--import', preload, entry, ...args], { cwd, env: {} });
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
it.each([['--version'], ['--help'], ['keys', '--help']])('headgate %s %s loads only the commands', (...args) => {
  const loaded = listLoaded(args);
  expect(loaded.filter((name) => !name.startsWith('src/'))).toEqual(['commander']);
});

const readers = ['keys list', 'requests', 'budgets', 'credits show', 'members list', 'files list', 'containers list'];
const others = ['guardrails list', 'presets list', 'workspaces list', 'interns list', 'vault list'];
it.each([...readers, ...others])('headgate %s loads the configuration and the store, and no gateway', (command) => {
  const loaded = listLoaded(command.split(' '));
  expect(loaded).toEqual(expect.arrayContaining(['src/config', 'kysely']));
  for (const name of ['undici', 'fastify', 'pino', 'pg', 'sharp', 'src/api', 'src/pipeline', 'src/gateway.ts']) {
    expect(loaded, name).not.toContain(name);
  }
});

it('headgate keys list loads no use cases of management, and no schema without a configuration', () => {
  const loaded = listLoaded(['keys', 'list']);
  for (const name of ['src/management', 'typebox', 'yaml', 'src/schema']) expect(loaded, name).not.toContain(name);
});
