import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { auditOf, type Json, manage } from '../../tests/api/manage.ts';
import { type TestGateway, testGateway, testKeys } from '../testing/index.ts';
import { runCli } from './program.ts';

let gateway: TestGateway;
const ask = manage(() => gateway);
const ownKey = 'bootstrap-key-with-limits';
beforeAll(async () => {
  const bootstrap = {
    keys: [{ key: ownKey, name: 'batch', workspace: 'main', acts_as: 'organization', requests_per_minute: 1 }],
  };
  gateway = await testGateway({ bootstrap });
});
afterAll(() => gateway?.close());

/** Runs a command beside the running gateway, on its store. */
async function call(...args: string[]) {
  const printed = { stdout: '', stderr: '' };
  const write = (name: 'stdout' | 'stderr') => ({ write: (text: string) => (printed[name] += text) });
  const source = ['--config', join(gateway.dataDir, 'test.json'), '--data', gateway.dataDir];
  const terminal = { stdout: write('stdout'), stderr: write('stderr'), env: {}, cwd: gateway.dataDir };
  const code = await runCli([...args, ...source], terminal);
  return { code, ...printed };
}
const print = async (...args: string[]): Promise<Json> => JSON.parse((await call(...args, '--json')).stdout);
const statusOf = async (key: string) =>
  (await gateway.post('/responses', { model: 'simulator/echo', input: 'x' }, { key })).status;

describe('rate limits on the command line', () => {
  it('of a key are set when it is created, changed and removed, and the running gateway follows', async () => {
    const made = await call('keys', 'create', '--name', 'app2', '--workspace', 'main', '--requests-per-minute', '1');
    const key = made.stdout.trim();
    const statuses = async () => [await statusOf(key), await statusOf(key)];
    await expect.poll(() => statusOf(key)).toBe(200);
    expect(await statusOf(key)).toBe(429);
    expect(await print('keys', 'show', 'app2')).toMatchObject({ requests_per_minute: 1, tokens_per_minute: null });

    const changed = await call(
      ...['keys', 'update', 'app2', '--requests-per-minute', 'none', '--concurrent-requests', '4'],
    );
    expect(changed).toMatchObject({ code: 0, stderr: 'Changed the key "app2".\n' });
    expect(await print('keys', 'show', 'app2')).toMatchObject({ requests_per_minute: null, concurrent_requests: 4 });
    expect((await auditOf(ask, 1))[0]).toMatchObject({
      action: 'key.update',
      changes: {
        requests_per_minute: { before: 1, after: null },
        concurrent_requests: { before: null, after: 4 },
      },
    });
    await expect.poll(statuses).toEqual([200, 200]);
  });

  it('of a member are shown, listed and changed, and the running gateway follows', async () => {
    const changed = await print('members', 'update', 'ada', '--tokens-per-minute', '5', '--requests-per-minute', '9');
    expect(changed).toMatchObject({
      id: 'ada',
      requests_per_minute: 9,
      tokens_per_minute: 5,
      concurrent_requests: null,
    });
    expect(await print('members', 'show', 'ada')).toEqual(changed);
    expect(await print('members', 'list', '--json')).toContainEqual(changed);
    expect((await call('members', 'list')).stdout).toMatch(
      /^MEMBER +REQUESTS\/MIN +TOKENS\/MIN +CONCURRENT +CREATED\nada +9 +5 +- +\d/,
    );
    await expect.poll(() => statusOf(testKeys.key)).toBe(429);
    const lifted = await print(
      'members',
      'update',
      'ada',
      '--tokens-per-minute',
      'none',
      '--requests-per-minute',
      'none',
    );
    expect(lifted).toMatchObject({ requests_per_minute: null, tokens_per_minute: null });
    await expect.poll(() => statusOf(testKeys.key)).toBe(200);
  });

  it('of a workspace are set when it is created, shown, and changed', async () => {
    const made = await print('workspaces', 'create', '--name', 'Lab', '--requests-per-minute', '3');
    expect(made).toMatchObject({ slug: 'lab', requests_per_minute: 3, concurrent_requests: null });
    expect(await print('workspaces', 'show', 'lab')).toEqual(made);
    expect(await print('workspaces', 'update', 'lab', '--concurrent-requests', '2')).toMatchObject({
      requests_per_minute: 3,
      concurrent_requests: 2,
    });
    expect((await call('workspaces', 'show', 'nowhere')).stderr).toContain('There is no workspace "nowhere"');
  });

  it('of the configuration return at the next start, and a change of them warns', async () => {
    expect([await statusOf(ownKey), await statusOf(ownKey)]).toEqual([200, 429]);
    expect((await call('keys', 'update', 'batch', '--requests-per-minute', '50')).stderr).toContain('bootstrap.keys');
    expect((await call('keys', 'update', 'batch', '--concurrent-requests', '50')).stderr).toBe(
      'Changed the key "batch".\n',
    );
  });

  it.each([
    [['keys', 'create', '--requests-per-minute', '0'], 'give a whole number from 1 to 1000000000000, or none'],
    [['members', 'update', 'ada', '--tokens-per-minute', 'all'], '--tokens-per-minute all: give a number, or none.'],
    [['keys', 'create', '--management', '--concurrent-requests', '1'], 'A management key requests no models'],
    [['keys', 'update', 'admin', '--concurrent-requests', '1'], 'A management key requests no models'],
    [['members', 'update', 'ada'], 'Nothing would change'],
    [['members', 'show', 'missing'], 'There is no member with the id missing.'],
  ])('rejects %j', async (args, message) => {
    const { code, stdout, stderr } = await call(...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(message);
  });
});
