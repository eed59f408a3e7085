// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of the configuration file.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { compileCache } from '../../tests/lifecycle/gateway-process.ts';
import { createKeyText, hashKey } from '../access/key-text.ts';
import { loadConfig } from '../config/load.ts';
import { openSqliteStorage } from '../platform/storage/sqlite/open.ts';
import { json } from '../testing/scripted-responses.ts';
import { type ScriptedRequest, startUpstream } from '../testing/scripted-upstream.ts';
import { runCli } from './program.ts';

const entry = fileURLToPath(new URL('../cli.ts', import.meta.url));
const children = new Set<ChildProcess>();
let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'headgate-cli-'));
});
afterEach(async () => {
  for (const child of children) {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  }
  children.clear();
  rmSync(cwd, { recursive: true });
});

interface Running {
  child: ChildProcess;
  stdout: string;
  stderr: string;
  exit: Promise<number | null>;
}
function run(args: string[], env: Record<string, string> = {}): Running {
  const child = spawn(process.execPath, [entry, ...args], {
    cwd,
    env: { ...compileCache, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  const closed = once(child, 'close');
  const running: Running = { child, stdout: '', stderr: '', exit: closed.then(([code]) => code as number | null) };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    running.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    running.stderr += text;
  });
  return running;
}
async function finish(args: string[], env: Record<string, string> = {}) {
  const running = run(args, env);
  const code = await running.exit;
  return { code, stdout: running.stdout, stderr: running.stderr };
}
/** The same without a process of its own, which costs half a second. */
async function call(args: string[], env: Record<string, string> = {}) {
  const printed = { stdout: '', stderr: '' };
  const write = (name: 'stdout' | 'stderr') => ({ write: (text: string) => (printed[name] += text) });
  const code = await runCli(args, { stdout: write('stdout'), stderr: write('stderr'), env, cwd });
  return { code, ...printed };
}
async function startUp(args: string[] = [], env: Record<string, string> = {}) {
  const running = run(['start', '--port', '0', ...args], env);
  const isUp = Promise.withResolvers<void>();
  running.child.stdout?.on('data', () => running.stdout.includes('is up: ') && isUp.resolve());
  await Promise.race([isUp.promise, running.exit]);
  const url = /is up: (\S+)\n/.exec(running.stdout)?.[1];
  if (url === undefined) throw new Error(`headgate start ended: ${running.stderr}`);
  return { running, url };
}
const write = (name: string, text: string) => writeFileSync(join(cwd, name), text);
const ask = (url: string, key: string, body: object) =>
  fetch(`${url}/api/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

describe('headgate', () => {
  it('prints version and help', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    expect(await finish(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
    const help = await finish(['--help']);
    expect(help).toMatchObject({ code: 0, stderr: '' });
    expect(help.stdout).toContain('Examples:');
    expect(help.stdout).toMatch(/Responses, chat\s+completions, Messages and Gemini/);
  });

  it.each([
    [['strat'], 'There is no command "strat". Did you mean "headgate start"?'],
    [['bogus'], 'There is no command "bogus". "headgate help" lists the commands.'],
    [['keys', 'lst'], 'Did you mean list?'],
    [['start', '--prot', '1'], 'Did you mean --port?'],
    [['keys', 'create', '--name'], 'headgate: --name <name> needs a value.\n"headgate keys create --help" lists '],
    [['keys', 'show'], 'A required argument is missing:\n  <key>  its hash or name\n'],
    [
      ['record', '--body', 'a'],
      '  --provider <id>  provider of the configuration\n  --out <folder>   folder for the files',
    ],
    [['explain'], 'Give either a model, as in "headgate explain openai/gpt-5-mini", or the body'],
    [['explain', 'a/b', '--body', 'a'], 'Give either a model'],
  ])('rejects %j and says what to do', async (args, message) => {
    const { code, stdout, stderr } = await call(args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(message);
  });

  it.each([
    [['init', '--output', 'none/here.yaml'], 'none/here.yaml cannot be written: there is no folder '],
    [['init', '--output', '.'], ' is a folder. --output needs the name of a file.'],
    [['start', '--config', '.'], ': is a folder, not a file'],
    [['start', '--port', '0', '--host', '192.0.2.1'], '192.0.2.1 is not an address of this machine (EADDRNOTAVAIL).'],
    [['start', '--port', '0', '--data', 'headgate.yaml'], 'it, or one of its parents, is a file.'],
    [['doctor', '--data', 'headgate.yaml'], 'headgate.yaml is a file\n'],
  ])('prints what is wrong with %j', async (args, message) => {
    write('headgate.yaml', '{}');
    const { code, stdout, stderr } = await call(args);
    expect(code).toBe(1);
    expect(stdout + stderr).toContain(message);
  });

  it.each([
    'files list',
    'containers list',
    'presets list',
    'vault list',
    'interns list',
  ])('%s creates nothing in a folder without a store', async (command) => {
    const { code, stdout, stderr } = await call(command.split(' '));
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      `headgate: There is no store at ${join(cwd, 'data/headgate.db')} yet, so there is no workspace. If your data is elsewhere, use --data.\n`,
    );
    expect(existsSync(join(cwd, 'data'))).toBe(false);
  });

  it.each([
    'start',
    'doctor',
    'models list',
  ])('%s prints all problems of an invalid configuration at once', async (command) => {
    write(
      'headgate.yaml',
      'server:\n  prot: 1\nproviders: [{ id: a, wire: openai-chat, api_key: "${GONE}", models: [] }]\n',
    );
    const { code, stdout, stderr } = await (command === 'start' ? finish : call)(command.split(' '));
    expect(code).toBe(1);
    const printed = stdout + stderr;
    expect(printed).toContain('headgate.yaml:2: server.prot: unknown key; the nearest known key is "port"');
    expect(printed).toContain('headgate.yaml:3: providers[0].api_key: the environment variable GONE');
    expect(printed).not.toMatch(/^ +at /m);
  });
});

describe('headgate start', () => {
  it('prints the URL, and the two keys on the very first start only', async () => {
    const { running, url } = await startUp();
    const inference = /sk-rt-v1-[0-9a-f]{64}/.exec(running.stdout)![0];
    expect(running.stdout).toMatch(/sk-rt-mgmt-v1-[0-9a-f]{64}/);
    expect(running.stdout).toContain(`curl ${url}/api/v1/responses`);
    const body = /-d '(.*)'/.exec(running.stdout)![1]!;
    expect((await ask(url, inference, JSON.parse(body))).status).toBe(200);
    running.child.kill('SIGTERM');
    expect(await running.exit).toBe(0);

    const again = await startUp();
    expect(again.running.stdout).not.toContain('sk-rt');
    expect((await ask(again.url, inference, { model: 'simulator/echo', input: 'hi' })).status).toBe(200);
    again.running.child.kill('SIGINT');
    expect(await again.running.exit).toBe(0);
  });

  it.each([
    ['OPENAI_API_KEY', 'openai/'],
    ['VOYAGE_API_KEY', 'simulator/'], // it has only embeddings
  ])('prints a first request that POST /responses accepts, with %s in the environment', async (variable, author) => {
    const { running } = await startUp([], { [variable]: 'key' });
    const body = /-d '(.*)'/.exec(running.stdout)![1]!;
    write('body.json', body);
    const { code, stdout } = await call(['explain', '--body', 'body.json'], { [variable]: 'key' });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(author) });
  });

  it('prints no first request if no provider generates text', async () => {
    write(
      'headgate.yaml',
      'catalog: { simulator: false }\nproviders: [{ id: bfl, api_key: k, models: [{ model: bfl/flux-2-pro }] }]',
    );
    const { running } = await startUp();
    expect(running.stdout).toContain('  inference   sk-rt-');
    expect(running.stdout).not.toContain('curl');
  });

  it('prints the public URL', async () => {
    const { running } = await startUp([], { HEADGATE_SERVER_PUBLIC_URL: 'https://models.example.com/' });
    expect(running.stdout).toContain('  Base URL   https://models.example.com/api/v1\n');
  });

  it('reports in one message that the port or the data folder is in use', async () => {
    const { url } = await startUp();
    const port = new URL(url).port;
    const samePort = await finish(['start', '--port', port, '--data', 'other']);
    expect(samePort).toMatchObject({ code: 1, stdout: '' });
    expect(samePort.stderr).toBe(
      `headgate: Port ${port} of 127.0.0.1 is in use. Stop the program that listens there, or choose another one with --port.\n`,
    );
    const sameData = await call(['start', '--port', '0']);
    expect(sameData.code).toBe(1);
    expect(sameData.stderr).toMatch(/^headgate: The data folder .* is in use .*\n$/);
  });

  it('shows the status of a running gateway when it is called without a command', async () => {
    const { url, running } = await startUp();
    const env = { HEADGATE_SERVER_PORT: new URL(url).port };
    const status = await finish([], env);
    expect(status).toMatchObject({ code: 0, stderr: '' });
    expect(status.stdout.split('\n').slice(0, 4)).toEqual([
      `Headgate 0.1.0 is already running (the process ${running.child.pid}): ${url}`,
      '  State      ready',
      `  Base URL   ${url}/api/v1`,
      `  Data       ${join(cwd, 'data')}`,
    ]);
    const start = await call(['start'], env);
    expect(start).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('The data folder') });
    const elsewhere = await call([], { HEADGATE_SERVER_PORT: '1' });
    expect(elsewhere).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('The data folder') });
  });

  it('ends at once with 130 on a second signal', async () => {
    const { running, url } = await startUp();
    const key = /sk-rt-v1-[0-9a-f]{64}/.exec(running.stdout)![0];
    const answer = await ask(url, key, { model: 'simulator/echo', input: '[[slow 5000]] a b c d', stream: true });
    expect(answer.status).toBe(200);
    running.child.kill('SIGTERM');
    await expect.poll(() => running.stderr).toContain('"msg":"shutdown started"');
    running.child.kill('SIGTERM');
    expect(await running.exit).toBe(130);
    await answer.body?.cancel().catch(() => undefined);
  });

  it('reloads a saved file, and keeps the old configuration if the new one is invalid', async () => {
    const withKey = (key: string) => `
bootstrap:
  workspaces: [{ name: main }]
  keys: [{ key: ${key}, name: app, workspace: main, acts_as: organization }]
`;
    write('headgate.yaml', withKey('first-key'));
    const { running, url } = await startUp();
    expect(running.stdout).not.toContain('sk-rt'); // there is a key already
    write('headgate.yaml', 'serverr: {}');
    await expect.poll(() => running.stderr).toContain('headgate.yaml:1: serverr: unknown key');
    expect((await ask(url, 'first-key', { model: 'simulator/echo', input: 'hi' })).status).toBe(200);
    write('headgate.yaml', withKey('second-key'));
    await expect.poll(() => running.stderr).toContain('"changed":["bootstrap.keys"],"msg":"config reloaded"');
    expect((await ask(url, 'second-key', { model: 'simulator/echo', input: 'hi' })).status).toBe(200);
    running.child.kill('SIGHUP');
    await expect.poll(() => running.stderr).toContain('"changed":[],"msg":"config reloaded"');

    await call(['keys', 'disable', hashKey('second-key')]);
    const status = async () => (await ask(url, 'second-key', { model: 'simulator/echo', input: 'hi' })).status;
    await expect.poll(status).toBe(401);
    running.child.kill('SIGHUP'); // which makes true what bootstrap says, though the file is the same
    await expect.poll(status).toBe(200);
  });
});

describe('headgate credits', () => {
  it('are off until some are added, limit a running gateway within a second, and are in the audit log', async () => {
    const { url } = await startUp();
    expect((await call(['credits', 'show'])).stdout).toBe('Credits are off; $0 spent.\n');
    const early = await call(['credits', 'add', '--', '-5']);
    expect([early.code, early.stderr]).toEqual([1, expect.stringContaining('nothing to take back')]);
    expect((await call(['credits', 'off'])).stdout).toBe('Credits are off already.\n');
    const added = await finish(['credits', 'add', '2.50', '--note', 'invoice 7']);
    expect(added.stderr).toContain('Credits are on now');
    expect(added).toMatchObject({ code: 0, stdout: 'Added $2.50. Credits: $2.50 added, $0 spent, $2.50 left.\n' });
    const taken = await call(['credits', 'add', '--', '-3']);
    expect(taken.stdout).toBe('Took back $3.00. Credits: -$0.50 added, $0 spent, -$0.50 left.\n');
    expect(taken.stderr).toContain('Nothing is left to spend');
    const shown = JSON.parse((await call(['credits', 'show', '--json'])).stdout);
    expect(shown).toEqual({ total_credits: -0.5, total_usage: 0, balance: -0.5 });

    const key = (await call(['keys', 'create'])).stdout.trim();
    const ask = () =>
      fetch(`${url}/api/v1/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'simulator/echo', input: 'hi' }),
      });
    await expect.poll(async () => (await ask()).status).toBe(402);
    expect((await call(['credits', 'off'])).stdout).toBe('Credits are off. Before: -$0.50 added, -$0.50 left.\n');
    await expect.poll(async () => (await ask()).status).toBe(200);
    const storage = await openSqliteStorage(join(cwd, 'data', 'headgate.db'));
    const { rows } = await storage.management.listAudit({ offset: 0, limit: 9 });
    await storage.close();
    expect(rows.filter(({ action }) => action === 'credits.add').at(-1)).toMatchObject({
      objectKind: 'credits',
      changes: { amount_usd: { after: 2.5 }, note: { after: 'invoice 7' } },
    });
    expect(rows[0]).toMatchObject({ action: 'credits.off', changes: { total_usd: { before: -0.5 } } });
  });

  it.each([
    ['0', 'The sum must not be 0.'],
    ['ten', 'give a sum in USD'],
    ['9000001', 'the maximum is 9000000 USD'],
  ])('cannot be %s', async (sum, message) => {
    const { code, stderr } = await call(['credits', 'add', sum]);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  });
});

describe('headgate keys and their names', () => {
  it('select the valid key, also after a rotation, and workspaces by their slug', async () => {
    await call(['workspaces', 'create', '--name', 'Team One', '--slug', 'team-one']);
    const made = await call(['keys', 'create', '--name', 'app', '--workspace', 'team-one']);
    expect(made.code).toBe(0);
    expect((await call(['keys', 'rotate', 'app'])).code).toBe(0);
    const shown = JSON.parse((await call(['keys', 'show', 'app', '--json'])).stdout);
    expect(shown.disabled).toBe(false);
    expect(shown.hash).not.toBe(hashKey(made.stdout.trim()));
    expect((await call(['keys', 'rotate', hashKey(made.stdout.trim())])).stderr).toContain(
      'The key is disabled: enable it first, or create a new one.',
    );
  });

  it('of management keys allow neither limit nor workspace', async () => {
    expect((await call(['keys', 'create', '--management', '--workspace', 'default'])).stderr).toContain('it has none');
    await call(['keys', 'create', '--management', '--name', 'admin']);
    expect((await call(['keys', 'update', 'admin', '--limit', '5'])).stderr).toContain('it has no limit');
    expect((await call(['keys', 'list'])).stdout).toMatch(/^admin +management +\S+ +- +-/m);
  });

  it('cause a warning only if bootstrap sets what was changed', async () => {
    write(
      'headgate.yaml',
      `
bootstrap:
  workspaces: [{ name: main }]
  keys:
    - { key: first-key, name: app, workspace: main, acts_as: organization }
    - { key: other-key, name: paid, workspace: main, acts_as: organization, credit_usd: 3 }
`,
    );
    const { running } = await startUp();
    running.child.kill('SIGTERM');
    await running.exit;
    expect((await call(['keys', 'update', 'app', '--limit', '5'])).stderr).not.toContain('bootstrap');
    expect((await call(['keys', 'update', 'paid', '--limit', '5'])).stderr).toContain('bootstrap.keys');
    expect((await call(['keys', 'update', 'app', '--name', 'new'])).stderr).toContain('bootstrap.keys');
    expect((await call(['keys', 'update', 'new', '--limit', '9000001'])).stderr).toContain(
      'must be a number from 0 to 9000000',
    );
    expect((await call(['guardrails', 'create', '--name', 'g', '--forbid', 'all'])).stderr).toContain(
      'none; none cannot be combined',
    );
  });
});

describe('a command that only reads', () => {
  it.each([
    [['keys', 'list'], 'There are no keys. "headgate keys create" creates one.\n'],
    [['keys', 'list', '--json'], '[]\n'],
    [['workspaces', 'list'], '', 'There are no workspaces. "headgate workspaces create" adds some.\n'],
    [['guardrails', 'list', '--json'], '[]\n'],
    [['budgets'], 'No spending limit is set.\n'],
    [['credits', 'show'], 'Credits are off; $0 spent.\n'],
  ])('creates no store: %j', async (args, stdout, says = '') => {
    const { stderr, ...printed } = await call(args);
    expect(printed).toEqual({ code: 0, stdout });
    expect(stderr).toMatch(/^headgate: there is no store at .*headgate\.db yet\. .* use --data\.\n/);
    expect(stderr.slice(stderr.indexOf('\n') + 1)).toBe(says);
    expect(existsSync(join(cwd, 'data'))).toBe(false);
  });

  it.each([['keys', 'list'], ['doctor'], ['budgets']])('says that a folder cannot be read: %j', async (...args) => {
    symlinkSync('loop', join(cwd, 'loop'));
    const { code, stdout, stderr } = await call([...args, '--data', join(cwd, 'loop/data')]);
    expect(code).toBe(1);
    expect(stdout + stderr).toContain('ELOOP');
  });
});

describe('headgate keys', () => {
  it('creates, lists and disables keys, and a running gateway follows within a second', async () => {
    const { url } = await startUp();
    const made = await finish(['keys', 'create', '--name', 'app', '--member', 'ada', '--expires', '90d']);
    expect(made.stdout).toMatch(/^sk-rt-v1-[0-9a-f]{64}\n$/);
    expect(made.stderr).toMatch(/^Created the inference key "app" for the member ada, valid until 2\d{3}-/);
    const key = made.stdout.trim();
    const status = async () => (await ask(url, key, { model: 'simulator/echo', input: 'hi' })).status;
    await expect.poll(status).toBe(200);

    const { stdout } = await call(['keys', 'list', '--json']);
    const listed: unknown = JSON.parse(stdout);
    expect(listed).toHaveLength(3);
    expect(listed).toContainEqual(
      expect.objectContaining({
        hash: hashKey(key),
        name: 'app',
        kind: 'inference',
        acts_as: 'member',
        member: 'ada',
        disabled: false,
      }),
    );
    expect(stdout).not.toContain(key);

    expect(await finish(['keys', 'disable', 'app'])).toMatchObject({ code: 0 });
    await expect.poll(status).toBe(401);
    expect((await call(['keys', 'list'])).stdout).toMatch(/^app +inference +\S+ +default +ada +disabled/m);
  });

  it('finds a key by hash, by its first digits and by name, and reports an ambiguous name', async () => {
    const names = ['one', 'two', 'two'];
    for (const name of names) expect(await call(['keys', 'create', '--name', name])).toMatchObject({ code: 0 });
    const keys = JSON.parse((await call(['keys', 'list', '--json'])).stdout) as { hash: string; name: string }[];
    const one = keys.find(({ name }) => name === 'one')!;
    expect(await call(['keys', 'disable', one.hash.slice(0, 12)])).toMatchObject({ code: 0 });
    expect(await call(['keys', 'disable', one.hash])).toMatchObject({ code: 0 });
    expect((await call(['keys', 'disable', 'two'])).stderr).toContain('matches several keys; give the hash: ');
    expect((await call(['keys', 'disable', 'three'])).stderr).toContain('No key has the hash, prefix or name "three"');
  });

  it('writes changes of keys into the audit log, once, without an actor key', async () => {
    const text = (await call(['keys', 'create', '--name', 'app'])).stdout.trim();
    for (let times = 0; times < 2; times++) await call(['keys', 'disable', 'app']);
    const storage = await openSqliteStorage(join(cwd, 'data', 'headgate.db'));
    const { rows } = await storage.management.listAudit({ offset: 0, limit: 9 });
    await storage.close();
    expect(rows).toMatchObject([
      { action: 'key.update', actorKeyHash: null, changes: { disabled: { before: false, after: true } } },
      { action: 'key.create', actorKeyHash: null, objectId: hashKey(text) },
      // What the first key needs, and nobody had made.
      { action: 'workspace.create' },
    ]);
    expect(JSON.stringify(rows)).not.toContain(text);
  });

  it('limits, renames, rotates and deletes a key that a running gateway serves', async () => {
    const { url } = await startUp();
    const made = await call(['keys', 'create', '--name', 'app', '--limit', '0.5', '--limit-reset', 'monthly']);
    const first = made.stdout.trim();
    const status = async (key: string) => (await ask(url, key, { model: 'simulator/echo', input: 'hi' })).status;
    await expect.poll(() => status(first)).toBe(200);
    const shown = async (name: string) =>
      JSON.parse((await call(['keys', 'show', name, '--json'])).stdout) as Record<string, unknown>;
    expect(await shown('app')).toMatchObject({ hash: hashKey(first), limit: 0.5, limit_reset: 'monthly', usage: 0 });

    const changed = await call(['keys', 'update', 'app', '--limit', 'none', '--name', 'live', '--include-byok']);
    expect(changed).toMatchObject({ code: 0, stderr: 'Changed the key "live".\n' });
    expect(await shown('live')).toMatchObject({ limit: null, limit_reset: 'monthly', include_byok_in_limit: true });

    const rotated = await call(['keys', 'rotate', 'live', '--grace', '1h']);
    const second = rotated.stdout.trim();
    expect(rotated.stderr).toMatch(/^"live": the old key \(sk-rt-v1-\S+\) ends on 2/);
    expect(await shown(hashKey(second))).toMatchObject({ limit_reset: 'monthly', include_byok_in_limit: true });
    await expect.poll(() => status(second)).toBe(200);
    expect(await status(first)).toBe(200);

    expect(await call(['keys', 'delete', hashKey(first)])).toMatchObject({ code: 0 });
    await expect.poll(() => status(first)).toBe(401);
    expect(await status(second)).toBe(200);
    expect(await call(['keys', 'update', 'live', '--disable'])).toMatchObject({ code: 0 });
    await expect.poll(() => status(second)).toBe(401);
    expect((await call(['keys', 'rotate', 'live'])).stderr).toContain('The key is disabled: enable it first');
    expect((await call(['keys', 'update', 'live', '--enable'])).code).toBe(0);
    await expect.poll(() => status(second)).toBe(200);
  });

  it.each([
    [['update', 'app'], 'Nothing would change'],
    [['update', 'app', '--enable', '--disable'], 'Use either --enable or --disable, not both.'],
    [['update', 'app', '--limit', '-1'], 'limit: `limit` must be'],
    [['update', 'app', '--limit', '1e3'], '--limit 1e3: give a number'],
    [['update', 'app', '--limit-reset', 'yearly'], 'limit_reset: `limit_reset` must be'],
    [['rotate', 'app', '--grace', '2d'], '--grace 2d: give 30m, 12h, … up to 1d.'],
    [['delete', 'nobody'], 'No key has the hash, prefix or name "nobody"'],
    [['create', '--management', '--limit', '5'], 'A management key requests no models'],
  ])('keys %j prints what is wrong', async (command, message) => {
    await call(['keys', 'create', '--name', 'app']);
    const { code, stderr } = await call(['keys', ...command]);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  });

  it('warns if the configuration would enable a disabled key', async () => {
    const owner = 'workspace: main, acts_as: organization';
    const keys = (more: string) => `bootstrap:
  workspaces: [{ name: main }]
  keys: [{ key: a-test-key, name: app, ${owner}${more} }]
`;
    write('headgate.yaml', keys(''));
    const { running } = await startUp();
    running.child.kill('SIGTERM');
    expect(await running.exit).toBe(0);
    expect((await call(['keys', 'disable', 'app'])).stderr).toContain('It is in bootstrap.keys: change it there, too');
    write('headgate.yaml', keys(', disabled: true'));
    expect((await call(['keys', 'disable', 'app'])).stderr).toBe('Disabled the key "app".\n');
  });

  it.each([
    [
      ['--organization'],
      /^Created the inference key "key-[0-9a-f]{8}" for the organization\. The key is not shown again/m,
      /^sk-rt-v1-/,
    ],
    [
      ['--management'],
      /^Created the management key "key-[0-9a-f]{8}"\. The key is not shown again/m,
      /^sk-rt-mgmt-v1-/,
    ],
  ])('creates one with %j', async (args, what, text) => {
    const { stdout, stderr } = await call(['keys', 'create', ...args]);
    expect(stderr).toMatch(what);
    expect(stdout).toMatch(text);
  });

  it.each([
    [['--organization', '--management'], 'Use only one of'],
    [['--workspace', 'nowhere'], 'There is no workspace "nowhere" (known: none)'],
    [['--expires', 'soon'], 'give a date like'],
    [['--expires', '2001-01-01'], '`expires_at` is in the past: 2001-01-01T00:00:00.000Z'],
    [['--name', ''], 'name: `name` must'],
  ])('rejects %j', async (args, message) => {
    const { code, stdout, stderr } = await call(['keys', 'create', ...args]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(message);
  });
});

describe('headgate init', () => {
  it('writes a file that loads, with the names of the keys that it found and never their values', async () => {
    const env = { GROQ_API_KEY: createKeyText('inference'), OPENAI_API_KEY: createKeyText('inference') };
    const { code, stdout } = await finish(['init'], env);
    expect(code).toBe(0);
    expect(stdout).toContain('Groq: key in GROQ_API_KEY, models as groq/…');
    expect(stdout).toContain('Next: headgate start (in a clone: npm start)\n');
    const text = readFileSync(join(cwd, 'headgate.yaml'), 'utf8');
    expect(text).toContain('api_key: ${OPENAI_API_KEY}');
    for (const secret of Object.values(env)) expect(text + stdout).not.toContain(secret);
    const { config } = loadConfig({ env, cwd });
    expect(config.providers.map(({ id }) => id)).toEqual(expect.arrayContaining(['openai', 'groq', 'simulator']));
  });

  it('imports a configuration of LiteLLM, and lists what it cannot carry over', async () => {
    const model = '{ model_name: m, litellm_params: { model: groq/m, api_key: gsk-secret, seed: 1 } }';
    write('config.yaml', `model_list: [${model}]\n`);
    write('keys.json', '{ "keys": [{ "key_alias": "shop" }] }');
    const args = ['init', '--from', 'litellm', 'config.yaml', '--keys', 'keys.json'];
    const { code, stdout } = await call(args);
    expect(code).toBe(0);
    expect(stdout).toContain('Imported: 1 providers, 1 endpoints, 1 keys.');
    expect(stdout).toContain('GROQ_API_KEY: the value of model_list[0].litellm_params.api_key');
    expect(stdout).toContain('model_list[0].litellm_params.seed: ');
    expect(stdout + readFileSync(join(cwd, 'headgate.yaml'), 'utf8')).not.toContain('gsk-secret');
    const env = { GROQ_API_KEY: 'gsk', KEY_SHOP: 'a-new-key-of-shop' };
    expect(loadConfig({ env, cwd }).config.bootstrap.keys).toMatchObject([{ name: 'shop' }]);
    expect((await call(args)).stderr).toContain('headgate.yaml already exists.');
  });

  it.each([
    [['--from', 'other', 'config.yaml'], 'other cannot be imported'],
    [['config.yaml'], 'Name the program of the file'],
    [['--from', 'litellm'], '--from needs the file'],
    [['--from', 'litellm', 'none.yaml'], 'none.yaml cannot be read'],
    [['--from', 'litellm', 'bad.yaml'], 'bad.yaml cannot be imported: line 1: '],
  ])('rejects %j', async (args, message) => {
    write('bad.yaml', 'model_list: [sk-secret');
    const { code, stderr } = await call(['init', ...args]);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('secret');
  });

  it('overwrites a file only with --force', async () => {
    write('mine.yaml', 'server: {}\n');
    const refused = await call(['init', '--output', 'mine.yaml']);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('mine.yaml already exists. --force overwrites it');
    expect(readFileSync(join(cwd, 'mine.yaml'), 'utf8')).toBe('server: {}\n');
    expect(await call(['init', '--output', 'mine.yaml', '--force'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(
        'headgate start --config mine.yaml (in a clone: npm start -- --config mine.yaml)',
      ),
    });
    expect(loadConfig({ file: 'mine.yaml', env: {}, cwd }).config.providers.length).toBeGreaterThan(0);
  });
});

it.each([
  ['doctor'],
  ['models', 'list'],
  ['--help'],
])('headgate %s %s ends without an error when its reader closes the pipe', async (...args) => {
  const running = run(args, { HEADGATE_SERVER_PORT: '0' });
  running.child.stdout?.destroy(); // long before there is something to read
  expect({ code: await running.exit, stderr: running.stderr }).toEqual({ code: 0, stderr: '' });
});

describe('headgate doctor', () => {
  it('reports counters in PostgreSQL as unavailable if the store is', async () => {
    const { code, stdout } = await call(['doctor'], { HEADGATE_STORAGE_URL: 'postgres://127.0.0.1:1/none' });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^fail +counters +limits and budgets are counted in PostgreSQL, which does not respond$/m);
  });

  it('prints the variable of an auto-configured provider, and not its value', async () => {
    const { code, stdout } = await call(['doctor'], {
      GROQ_API_KEY: 'gsk_secret_1234567890',
      HEADGATE_SERVER_PORT: '0',
    });
    expect(stdout).toContain('auto-configured from GROQ_API_KEY');
    expect(stdout).not.toContain('gsk_secret');
    expect([0, 1]).toContain(code); // the provider's name may not resolve here
  });

  it('reports a provider in an unknown workspace with the message of a start', async () => {
    const provider = { id: 'own', wire: 'simulator', workspace: 'nowhere', models: [{ model: 'own/echo' }] };
    writeFileSync(join(cwd, 'headgate.yaml'), JSON.stringify({ providers: [provider] }));
    const says = 'Provider own: there is no workspace nowhere; add it to bootstrap.workspaces.';
    const env = { HEADGATE_SERVER_PORT: '0' };
    const doctor = await call(['doctor'], env);
    expect(doctor.code).toBe(1);
    expect(doctor.stdout).toMatch(new RegExp(`^fail +models +${says}$`, 'm'));
    expect(existsSync(join(cwd, 'data'))).toBe(false);
    const start = await call([], env);
    expect(start).toMatchObject({ code: 1, stderr: expect.stringContaining(`headgate: ${says}\n`) });

    await call(['keys', 'create', '--name', 'app'], env); // makes the store and a workspace
    await call(['workspaces', 'create', '--name', 'nowhere'], env);
    const after = await call(['doctor'], env);
    expect(after).toMatchObject({ code: 0, stdout: expect.not.stringContaining(says) });
  });

  it('finds no problem without a configuration, creates nothing, and does not color a pipe', async () => {
    const { code, stdout } = await finish(['doctor'], { HEADGATE_SERVER_PORT: '0', FORCE_COLOR: '1' });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ok {4}node {9}v\d+/);
    expect(stdout).toMatch(/All is well\.\n$/);
    expect(stdout).not.toContain('\u001b');
    expect(existsSync(join(cwd, 'data'))).toBe(false);
  });

  it('distinguishes its gateway at the port from another Headgate and another program', async () => {
    const { url } = await startUp();
    const withGateway = await call(['doctor'], { HEADGATE_SERVER_PORT: new URL(url).port });
    expect(withGateway.code).toBe(0);
    expect(withGateway.stdout).toMatch(/^ok +port +the gateway of this data folder responds at 127\.0\.0\.1:/m);
    expect(withGateway.stdout).toMatch(/^ok +storage +SQLite .*; 2 keys$/m);

    const elsewhere = await call(['doctor', '--data', 'other'], { HEADGATE_SERVER_PORT: new URL(url).port });
    expect(elsewhere.code).toBe(1);
    expect(elsewhere.stdout).toMatch(
      /^fail +port .* is in use by another Headgate \(0.1.0\)\n +-> Stop it, or .*--data\.$/m,
    );
    const second = await startUp(['--data', 'other']);
    const both = await call(['doctor', '--data', 'other'], { HEADGATE_SERVER_PORT: new URL(url).port });
    expect(both.stdout).toMatch(/^fail +port .* is in use by another Headgate/m);
    expect(both.stdout).toContain(`in use by the process ${second.running.child.pid} at ${second.url}; `);

    const other = createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const port = String((other.address() as AddressInfo).port);
    const withOther = await call(['doctor', '--data', 'other', '--port', port, '--host', '127.0.0.1']);
    other.close();
    expect(withOther.code).toBe(1);
    expect(withOther.stdout).toMatch(/^fail +port +.* is in use by another program\n +-> Stop it/m);
  });

  it('prints how to make the rules permanent that its gateway has learned', async () => {
    const upstream = await startUpstream();
    upstream.always(({ body }: ScriptedRequest) =>
      Object.hasOwn(body as object, 'top_p')
        ? json({ error: { message: "Unsupported parameter: 'top_p'." } }, { status: 400 })
        : json({ choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello.' } }] }),
    );
    const models = [{ model: 'acme/one' }, { model: 'acme/wild-*', upstream_model: '*' }];
    const acme = { id: 'acme', wire: 'openai-chat', base_url: upstream.url, models };
    write('headgate.yaml', JSON.stringify({ providers: [acme] }));
    const { running, url } = await startUp();
    const key = /sk-rt-v1-\w+/.exec(running.stdout)![0];
    for (const model of ['acme/one', 'acme/wild-cat']) {
      expect((await ask(url, key, { model, input: 'Hi', top_p: 0.5 })).status).toBe(200);
    }
    await upstream.close();
    const { stdout } = await call(['doctor'], { HEADGATE_SERVER_PORT: new URL(url).port });
    const advice =
      '-> To make this permanent, add to the model in headgate.yaml: dialect: {"fields":{"top_p":{"send":false}}}';
    expect(stdout).toMatch(
      /^warn +acme +refuses `top_p` for acme\/one; the gateway sends requests without that for a day$/m,
    );
    expect(stdout).toMatch(/^warn +acme +refuses `top_p` for a model of acme\/wild-\*; /m);
    expect(stdout.split(advice)).toHaveLength(3);
  });

  it('prints how to fix a master key that others can read, and a file that is not a database', async () => {
    await call(['keys', 'create']);
    write('data/master.key', 'x');
    chmodSync(join(cwd, 'data/master.key'), 0o644);
    write(
      'data/other.db',
      'this is no database, this is a text that is longer than one hundred bytes, so that SQLite looks at it.',
    );
    const { code, stdout } = await call(['doctor'], {
      HEADGATE_SERVER_PORT: '0',
      HEADGATE_STORAGE_URL: 'file:data/other.db',
    });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^fail +master key .*mode 0644: others can read it\n +-> chmod 600 /m);
    expect(stdout).toMatch(/^fail +storage .*is not a SQLite database/m);
    expect(stdout).toMatch(/2 problems\.\n$/);
  });

  it('lists every error in a dialect with its line, and continues', async () => {
    const text = `providers:
  - id: lab
    wire: openai-chat
    base_url: http://127.0.0.1:9/v1
    dialect:
      tools: { mox: 3, with_search: false }
      stream_usage: 1
      effort: [low]
      nonsense: true
      fields:
        top_p: { mox: 1 }
        "a.b": [{ max: 1 }, { send: "\${FLAG}" }]
    models:
      - model: acme/one
        dialect:
          turns: { system: frist }
  - id: both
    wire: openai
    base_url: http://127.0.0.1:9/v1
    models: [{ model: acme/two }]
    dialect: { cache: { maximum: 3 } }
`;
    const place = 'headgate.yaml:(\\d+): ';
    write('headgate.yaml', text);
    const { code, stdout } = await call(['doctor'], { HEADGATE_SERVER_PORT: '0', FLAG: 'hunter2-secret' });
    expect(code).toBe(1);
    expect(
      [...stdout.matchAll(new RegExp(`^fail +config +${place}(.*)$`, 'gm'))].map(([, line, says]) => [line, says]),
    ).toEqual([
      ['6', 'providers[0].dialect.tools.mox: is not known here; did you mean `max`?'],
      ['6', expect.stringMatching(/dialect\.tools\.with_search: has no effect on the wire openai-chat\. .*gemini/)],
      ['7', 'providers[0].dialect.stream_usage: must be true or false'],
      ['8', 'providers[0].dialect.effort: is not a setting of openai-chat; did you mean `efforts`?'],
      [
        '9',
        expect.stringMatching(/^providers\[0\]\.dialect\.nonsense: .*; the settings are max_tokens_field, .*tools/),
      ],
      ['11', 'providers[0].dialect.fields.top_p.mox: is not known here; did you mean `max`?'],
      ['12', 'providers[0].dialect.fields.a.b[1].send: must be true or false'],
      [
        '16',
        'providers[0].models[0].dialect.turns.system: must be one of `anywhere`, `first`, `not_last`, `user`, got "frist"; did you mean `first`?',
      ],
      [
        '21',
        'providers[1].dialect.cache.maximum: is not known here; the fields are `max`, `longest_first`, `scope`, `ttl`',
      ],
    ]);
    expect(stdout).not.toContain('hunter2');
    expect(stdout).toMatch(/^ok +storage /m);
    const start = await call(['start'], { HEADGATE_SERVER_PORT: '0', FLAG: 'true' });
    expect(start.code).not.toBe(0);
    expect(start.stderr).toMatch(new RegExp(`${place}providers\\[1\\]\\.dialect\\.cache\\.maximum: is not known here`));
  });

  it('warns of a field in a dialect that is probably misspelled', async () => {
    const dialect = '{ fields: { temprature: { max: 1 }, safe_prompt: { send: false } } }';
    write(
      'headgate.yaml',
      `providers: [{ id: a, wire: openai-chat, base_url: "http://127.0.0.1:1", models: [{ model: a/b }], dialect: ${dialect} }]\n`,
    );
    const { code, stdout } = await call(['doctor'], { HEADGATE_SERVER_PORT: '0' });
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^warn +config +providers\[0\]\.dialect\.fields\.temprature is not a field that Headgate knows; did you mean `temperature`\?$/m,
    );
    expect(stdout).not.toContain('safe_prompt');
  });

  it('names the models without a price if the configuration limits spending', async () => {
    const models =
      '[{ model: a/priced, pricing: { prompt: 0, completion: 0 } }, { model: a/unknown }, { model: "a/*" }]';
    const provider = `providers: [{ id: a, wire: openai-chat, base_url: "http://127.0.0.1:1", models: ${models} }]\n`;
    write('headgate.yaml', provider);
    const unlimited = await call(['doctor'], { HEADGATE_SERVER_PORT: '0' });
    expect(unlimited.stdout).not.toContain('prices');
    for (const limit of [
      'budgets: { member: { monthly: 5 } }',
      'bootstrap: { workspaces: [{ name: main }], keys: [{ key: test-inference-key-0001, name: app, workspace: main, acts_as: organization, credit_usd: 1 }] }',
    ]) {
      write('headgate.yaml', `${provider}${limit}\n`);
      const { code, stdout } = await call(['doctor'], { HEADGATE_SERVER_PORT: '0' });
      expect(stdout).toMatch(
        /^warn +prices +no price is known for a\/unknown, a\/\*: .* bypass every spending limit\n +-> /m,
      );
      expect(code).toBe(0);
    }
    const budget = 'budgets: { member: { monthly: 5 } }\n';
    write('headgate.yaml', `${provider}${budget}limits: { unpriced_models: reject }\n`);
    expect((await call(['doctor'], { HEADGATE_SERVER_PORT: '0' })).stdout).toMatch(
      /^warn +prices +no price is known for a\/unknown, a\/\*: requests under a spending limit get a 402\n +-> /m,
    );
    write(
      'headgate.yaml',
      `${provider}${budget}limits: { unpriced_models: { prompt: 0.00001, completion: 0.00002 } }\n`,
    );
    expect((await call(['doctor'], { HEADGATE_SERVER_PORT: '0' })).stdout).toMatch(
      /^ok +prices +every model has a price/m,
    );
  });

  it('names the models without a price if the store has a spending limit', async () => {
    write(
      'headgate.yaml',
      'providers: [{ id: a, wire: openai-chat, base_url: "http://127.0.0.1:1", models: [{ model: a/unknown }] }]\n',
    );
    await call(['credits', 'add', '5']);
    expect((await call(['doctor'], { HEADGATE_SERVER_PORT: '0' })).stdout).toMatch(
      /^warn +prices +no price is known for a\/unknown: requests without a price bypass every spending limit$/m,
    );
  });

  it('checks shared counters, and shows no password', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    taken.close();
    const alone = await call(['doctor'], { HEADGATE_SERVER_PORT: '0' });
    expect(alone.stdout).toMatch(/^ok +counters +limits and budgets are counted in the process$/m);
    const url = `redis://:hunter2-secret@127.0.0.1:${port}`;
    const { code, stdout } = await call(['doctor'], { HEADGATE_SERVER_PORT: '0', VALKEY_URL: url });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^fail +counters +127\.0\.0\.1:\d+ does not respond .*\n +-> Check counters\.url/m);
    expect(stdout).not.toContain('hunter2');
  });

  it('probes which paths a server has', async () => {
    const upstream = createServer((request, response) => {
      const isKnown = request.url === '/v1/models' || request.url === '/v1/chat/completions';
      response.statusCode = !isKnown ? 404 : request.method === 'GET' ? 200 : 400;
      response.end('{}');
    }).listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
    write(
      'headgate.yaml',
      `server: { port: 0 }
providers:
  - { id: openai, base_url: "${url}/v1", api_key: k }
  - { id: written, wire: openai-responses, base_url: "${url}/v1", models: [{ model: "written/*" }] }
  - { id: chat, wire: openai-chat, base_url: "${url}/v1", models: [{ model: "chat/*" }] }
  - { id: nowhere, wire: openai, base_url: "${url}", models: [{ model: "nowhere/*" }] }
`,
    );

    const { code, stdout } = await call(['doctor', '--probe']);

    upstream.close();
    expect(code).toBe(1);
    expect(stdout).toMatch(/^ok +openai +speaks \/chat\/completions \(wire openai-chat\)$/m);
    expect(stdout).toMatch(
      /^fail +written +has no \/responses \(404\), but \/chat\/completions\n +-> Set wire: openai-chat\.$/m,
    );
    expect(stdout).not.toMatch(/^\S+ +chat +(?:has|speaks)/m);
    expect(stdout).toMatch(/^fail +nowhere +has neither \/responses nor \/chat\/completions\n +-> Correct base_url/m);
  });

  it('contacts each provider with each key if --probe is set, and shows no key', async () => {
    const [good, bad] = [createKeyText('inference'), createKeyText('inference')];
    const upstream = createServer((request, response) => {
      const isGood = request.headers.authorization === `Bearer ${good}`;
      const known: Record<string, number> = {
        '/v1/models': isGood ? 200 : 401,
        '/public/models': 200, // lists models for any key
        '/public/chat/completions': isGood ? 400 : 401,
      };
      response.statusCode = known[request.url ?? ''] ?? 404;
      response.end('{}');
    }).listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    const { port } = upstream.address() as AddressInfo;
    write(
      'headgate.yaml',
      `server: { port: 0 }
providers:
  - { id: up, wire: openai-chat, base_url: "http://127.0.0.1:${port}/v1", api_key: ["${good}", "${bad}"], models: [{ model: "up/*" }] }
  - { id: open, wire: openai-chat, base_url: "http://127.0.0.1:${port}/public", api_key: ["${good}", "${bad}"], models: [{ model: "open/*" }] }
  - { id: bare, wire: openai-chat, base_url: "http://127.0.0.1:${port}", models: [{ model: "bare/*" }] }
  - { id: down, wire: openai-chat, base_url: "http://127.0.0.1:1/v1", models: [{ model: "down/*" }] }
`,
    );
    const unasked = await call(['doctor']);
    const asked = await call(['doctor', '--probe']);
    upstream.close();
    expect(unasked.code).toBe(0);
    expect(unasked.stdout).toMatch(/^ok +up +127\.0\.0\.1:\d+ resolves; 2 keys; not contacted \(use --probe\)$/m);
    expect(asked.code).toBe(1);
    expect(asked.stdout).toMatch(/^ok +up +key 1 of 2: responds in \d+ ms$/m);
    expect(asked.stdout).toMatch(/^fail +up +key 2 of 2: rejects the key \(401\)\n +-> Put a valid key/m);
    expect(asked.stdout).toMatch(/^ok +open +key 1 of 2: responds in \d+ ms$/m);
    expect(asked.stdout).toMatch(/^fail +open +key 2 of 2: rejects the key \(401\)\n +-> Put a valid key/m);
    expect(asked.stdout).toMatch(/^ok +bare +responds in \d+ ms, and has no list of models \(404\)/m);
    expect(asked.stdout).toMatch(/^fail +down +does not respond \(.*\)$/m);
    expect(asked.stdout).not.toContain('sk-rt');
  });
});
