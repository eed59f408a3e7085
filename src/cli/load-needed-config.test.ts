// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of the configuration file.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli } from './program.ts';

let folder: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-needed-'));
  await run('keys', 'create', '--name', 'app'); // in data/
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function call(args: string[], env: Record<string, string> = {}) {
  const printed = { stdout: '', stderr: '' };
  const write = (name: 'stdout' | 'stderr') => ({ write: (text: string) => (printed[name] += text) });
  const code = await runCli(args, { stdout: write('stdout'), stderr: write('stderr'), env, cwd: folder });
  return { code, ...printed };
}
const run = (...args: string[]) => call(args);
const save = (text: string) => writeFileSync(join(folder, 'headgate.yaml'), text);

describe('a command for the store, with an error in the configuration', () => {
  it.each([
    ['keys list', 'app'],
    ['keys show app --json', '"name": "app"'],
    ['keys disable app', 'disabled'],
    ['credits show', 'Credits are off'],
    ['credits add 5', 'Added $5.00'],
    ['budgets', ''],
    ['workspaces list', 'default'],
    ['guardrails list', ''],
    ['guardrails create --name G --allow-model m --json', '"name": "G"'],
  ])('prints it in a line and continues: %s', async (command, prints) => {
    save('server: { prot: 1 }\nlog: { level: loud }\n');
    const { code, stdout, stderr } = await run(...command.split(' '));
    expect({ code, line: stderr.split('\n')[0] }).toEqual({
      code: 0,
      line:
        'headgate: headgate.yaml:1: server.prot: unknown key; the nearest known key is "port" ' +
        '("headgate doctor" lists all 2 errors). This command does not need these settings, and continues.',
    });
    expect(stdout).toContain(prints);
    expect(stderr).not.toContain('means no model');
  });

  it.each([
    ['storage: { url: "mysql://x" }', 'storage.url: must be'],
    ['storage: { uri: "postgres://x" }', 'storage.uri: unknown key'],
    ['storag: { url: "postgres://x" }', 'storag: unknown key'],
    ['storage: { url: "${GONE}" }', 'the environment variable GONE'],
    ['storage: []', 'storage: must be an object'],
  ])('stops if the store is unknown: %s', async (text, says) => {
    save(text);
    const { code, stdout, stderr } = await run('keys', 'create', '--name', 'other');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('headgate: the configuration cannot be used.\n');
    expect(stderr).toContain(says);
    // The environment outweighs the file.
    const env = { HEADGATE_STORAGE_URL: 'file:<data>/headgate.db' };
    expect(await call(['keys', 'list'], env)).toMatchObject({ code: text === 'storage: []' ? 1 : 0 });
  });

  it('stops if its own settings are invalid', async () => {
    save('budgets: { member: { monthly: much } }');
    expect(await run('budgets')).toMatchObject({ code: 1, stdout: '' });
    expect(await run('keys', 'list')).toMatchObject({ code: 0 });
  });

  it.each([
    'models list',
    'record --provider a --body b --out c',
    'explain --body b',
  ])('stops if it needs the whole configuration: %s', async (command) => {
    save('server: { prot: 1 }');
    expect(await run(...command.split(' '))).toMatchObject({ code: 1, stdout: '' });
  });
});

it('doctor checks the valid part of a configuration with errors', async () => {
  save('server: { prot: 1 }\nlog: { level: loud }\n');
  const { code, stdout } = await run('doctor');
  expect(code).toBe(1);
  expect(stdout).toMatch(/^fail +config .*prot/m);
  expect(stdout).toMatch(/^ok +data folder .*GiB free$/m);
  expect(stdout).toMatch(/^ok +storage +SQLite .*; 1 key$/m);
  expect(stdout).not.toMatch(/^\w+ +port /m); // who knows what "prot" was to be
  expect(stdout).toMatch(/^warn +others +not checked/m);
});

describe('a file that is not YAML', () => {
  beforeEach(() => save('server: { port: 1\nstorage: {}\n'));

  it('stops a command for the store, and prints how to continue', async () => {
    const { code, stdout, stderr } = await run('keys', 'list');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/headgate\.yaml:2: .*\n/);
    expect(stderr).toContain('To continue without it, name a data folder that has one with --data.');
  });

  it('does not stop it, with a data folder that has a store', async () => {
    const { code, stdout, stderr } = await run('keys', 'disable', 'app', '--data', 'data');
    expect(code).toBe(0);
    expect(stdout).toContain('disabled');
    expect(stderr).toContain('Disabled the key "app"');
    expect(stderr).toContain(`continues without the file, with the store ${folder}/data/headgate.db.\n`);
    expect((await call(['keys', 'list'], { HEADGATE_DATA: 'data' })).code).toBe(0);
    expect((await call(['keys', 'list'], { HEADGATE_STORAGE_URL: 'file:data/headgate.db' })).code).toBe(0);
    expect((await run('budgets', '--data', 'data')).code).toBe(1);
  });

  it('creates no store in a folder without one', async () => {
    mkdirSync(join(folder, 'empty'));
    expect(await run('keys', 'create', '--data', 'empty')).toMatchObject({ code: 1, stdout: '' });
    expect(existsSync(join(folder, 'empty', 'headgate.db'))).toBe(false);
    expect(readFileSync(join(folder, 'headgate.yaml'), 'utf8')).toContain('port: 1');
  });

  it('also holds for a missing file', async () => {
    expect((await run('keys', 'list', '--config', 'gone.yaml')).stderr).toContain('gone.yaml: there is no such file');
    expect((await run('keys', 'list', '--config', 'gone.yaml', '--data', 'data')).code).toBe(0);
  });
});
