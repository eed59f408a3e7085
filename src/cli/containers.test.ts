import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createContainers, type RunningContainers } from '../containers/create-containers.ts';
import { createBus } from '../platform/bus/bus.ts';
import { createMemoryNetwork } from '../platform/bus/memory/memory-driver.ts';
import { openDiskObjects } from '../platform/objects/disk/disk-objects.ts';
import { openSqliteStorage } from '../platform/storage/sqlite/open.ts';
import type { Storage } from '../platform/storage/storage.ts';
import { createFakeSandboxes, type FakeCommand } from '../testing/fake-sandboxes.ts';
import { runCli } from './program.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-containers-cli-'));
const driver = createFakeSandboxes();
let storage: Storage;
let containers: RunningContainers;
/** A gateway on the store of the command line. */
beforeAll(async () => {
  storage = await openSqliteStorage(join(folder, 'headgate.db'));
  await storage.migrate();
  await storage.access.putWorkspace({ id: 'w1', name: 'default', createdAtMs: 1 });
  const objects = openDiskObjects(join(folder, 'files'));
  const bus = createBus(createMemoryNetwork().join());
  const ignore = (): void => {};
  const limits = { memoryBytes: 1, cpus: 1, processes: 1, diskBytes: 1e6, diskEntries: 100, temporaryBytes: 1 };
  containers = createContainers({
    driver,
    problem: undefined,
    store: storage.containers,
    objects,
    bus,
    openEgress: undefined,
    now: Date.now,
    files: { files: storage.files, objects },
    log: ignore,
    leaseTimes: { renewMs: 10, validMs: 15_000 },
    counts: { started: ignore, ended: ignore, failed: ignore },
    settings: () => ({
      limits,
      maxRunning: 9,
      maxRunningTotal: 9,
      idleMs: 60_000,
      owner: 'member',
      price: { perSecondNanoUsd: 0n, minSeconds: 0 },
    }),
  });
  writeFileSync(join(folder, 'headgate.json'), '{}');
});
afterAll(async () => {
  await containers.close();
  await storage.close();
  rmSync(folder, { recursive: true, force: true });
});

async function call(...args: string[]) {
  const printed = { stdout: '', stderr: '' };
  const write = (name: 'stdout' | 'stderr') => ({ write: (text: string) => (printed[name] += text) });
  const source = ['--config', join(folder, 'headgate.json'), '--data', folder];
  const terminal = { stdout: write('stdout'), stderr: write('stderr'), env: {}, cwd: folder };
  return { code: await runCli(['containers', ...args, ...source], terminal), ...printed };
}
/** Runs a command that only says what it did. */
const say = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await call(...args);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  return stderr;
};
const succeed = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await call(...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
};

async function run(id: string, command: FakeCommand, memberId = 'ada') {
  const { signal } = new AbortController();
  const caller = { keyHash: 'k', keyName: 'k', kind: 'member', workspaceId: 'w1', memberId } as const;
  const container = await containers.open(caller, { id, compute: 'bash', signal });
  return container.run({ command: JSON.stringify(command), timeoutMs: 60_000, maxOutputLength: 100, signal });
}

describe('headgate containers', () => {
  it('says that there are none', async () => {
    expect(await say('list')).toContain('There are no containers.');
    expect(JSON.parse(await succeed('list', '--json'))).toEqual([]);
    expect(await call('stop', 'none')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no container "none"'),
    });
    expect(await call('files', 'none')).toMatchObject({ code: 1 });
  });

  it('lists containers and their files, and never lets a name steer the terminal', async () => {
    await run('sess_a', { write: { 'out/a.csv': 'a,b', 'bad\u001b[31m\nname': '1' } });
    expect(await succeed('list')).toMatch(/sess_a@member:ada +bash +3 +4 +just now/);
    expect(JSON.parse(await succeed('list', '--json'))).toEqual([
      {
        id: 'sess_a@member:ada',
        created_at: expect.any(String),
        used_at: expect.any(String),
        bytes: 4,
        entries: 3,
        running: ['bash'],
      },
    ]);
    const files = await succeed('files', 'sess_a');
    expect(files).toContain('bad\\u001b[31m\\u000aname');
    expect(files).toMatch(/out\/a\.csv +3 +\d{4}-/);
    expect(JSON.parse(await succeed('files', 'sess_a', '--json'))).toMatchObject([
      { path: 'bad\u001b[31m\nname' },
      { path: 'out/a.csv', bytes: 3 },
    ]);
  });

  it('needs the owner only if several callers have a container of the id', async () => {
    for (const id of ['sess_m', 'sess_m-1', 'sess_mm']) await run(id, { write: { [id]: '1' } });
    expect(JSON.parse(await succeed('files', 'sess_m', '--json'))).toMatchObject([{ path: 'sess_m' }]);
    await run('sess_m', { write: { b: '1' } }, 'bob');
    expect(await call('files', 'sess_m')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Several callers have a container "sess_m"'),
    });
    expect(JSON.parse(await succeed('files', 'sess_m@member:bob', '--json'))).toMatchObject([{ path: 'b' }]);
    for (const id of ['sess_m@member:bob', 'sess_m', 'sess_m-1', 'sess_mm']) await say('rm', id);
  });

  it('stops a container after its commands, and keeps its files', async () => {
    const running = run('sess_b', { waitFor: 'go', write: { a: '1' } });
    await driver.reached('go');
    const stopping = say('stop', 'sess_b');
    driver.pass('go');
    await running;
    expect(await stopping).toBe('Stopped sess_b (1 sandbox).\n');
    expect(await say('stop', 'sess_b')).toBe('The container sess_b is not running.\n');
    expect(await succeed('list')).toMatch(/sess_b@member:ada +- +1 +1/);
  });

  it('ends commands with --now', async () => {
    const running = run('sess_c', { waitFor: 'never' });
    await driver.reached('never');
    const ended = expect(running).rejects.toThrow('The container was stopped.');
    expect(await say('stop', 'sess_c', '--now')).toContain('Stopped sess_c');
    await ended;
  });

  it('removes a container with its files', async () => {
    await run('sess_d', { write: { a: 'content' } });
    const { key } = (await storage.containers.findContainer('w1', 'sess_d@member:ada'))!;
    expect(await say('rm', 'sess_d')).toBe('Deleted the container "sess_d".\n');
    expect(await succeed('list')).not.toContain('sess_d');
    expect(await storage.containers.listEntries({ containerKey: key, after: { version: 0 }, limit: 9 })).toEqual([]);
    const objects = openDiskObjects(join(folder, 'files'));
    expect(await objects.list({ prefix: `containers/${key}/`, limit: 9 })).toEqual([]);
  });
});
