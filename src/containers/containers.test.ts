import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import type { Caller } from '../domain/caller.ts';
import { createTimedId } from '../domain/ids.ts';
import { findContainerAt, placeContainer } from '../management/containers/container-place.ts';
import { createFile } from '../management/files/create-file.ts';
import type { FileParts } from '../management/files/parts.ts';
import { createBus } from '../platform/bus/bus.ts';
import { createMemoryNetwork } from '../platform/bus/memory/memory-driver.ts';
import { openDiskObjects } from '../platform/objects/disk/disk-objects.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { ContainerStore } from '../platform/storage/ports/containers.ts';
import { openSqliteStorage } from '../platform/storage/sqlite/open.ts';
import type { LogMessage } from '../platform/telemetry/log-messages.ts';
import { createFakeSandboxes, type FakeCommand } from '../testing/fake-sandboxes.ts';
import type { ContainerRequest, OpenContainer } from '../tools/containers.ts';
import { ToolError } from '../tools/server-tool.ts';
import type { ContainerSettings, ContainersParts, OpenEgress } from './container-parts.ts';
import { createContainers, type RunningContainers } from './create-containers.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-containers-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

const mebibyte = 1024 * 1024;
const settings: ContainerSettings = {
  limits: {
    memoryBytes: mebibyte,
    cpus: 1,
    processes: 8,
    temporaryBytes: mebibyte,
    diskBytes: 64 * mebibyte,
    diskEntries: 10_000,
  },
  maxRunning: 3,
  maxRunningTotal: 5,
  idleMs: 60_000,
  owner: 'member',
  price: { perSecondNanoUsd: 0n, minSeconds: 30 },
};

/** Processes on one store, one folder of objects and one bus. */
async function openHost() {
  const storage = await openSqliteStorage(':memory:');
  opened.push(storage);
  await storage.migrate();
  const workspaceId = 'w1';
  for (const id of [workspaceId, 'w2']) await storage.access.putWorkspace({ id, name: id, createdAtMs: 1 });
  const network = createMemoryNetwork();
  const disk = openDiskObjects(join(folder, createTimedId('')));
  const failing = { objects: false, store: false };
  /** What saves wait for, and what is called when one waits. */
  const gate: { opened?: Promise<void>; reached?: () => void } = {};
  const objects: Objects = {
    ...disk,
    async put(key, content) {
      gate.reached?.();
      await gate.opened;
      if (failing.objects) throw new Error('no objects');
      return disk.put(key, content);
    },
  };
  const store: ContainerStore = {
    ...storage.containers,
    saveEntries: (save) =>
      failing.store ? Promise.reject(new Error('no store')) : storage.containers.saveEntries(save),
  };
  const files: FileParts = {
    files: storage.files,
    objects: disk,
    limits: () => ({ maxBytes: mebibyte, workspaceBytes: mebibyte, workspaceFiles: 10 }),
    now: Date.now,
  };
  const createCaller = (fields: Partial<Caller> = {}): Caller => ({
    keyHash: 'k',
    keyName: 'key',
    kind: 'member',
    workspaceId,
    memberId: 'ada',
    ...fields,
  });
  const caller = createCaller();

  function openProcess(
    changed: Partial<ContainerSettings> = {},
    openEgress?: OpenEgress,
    more: Pick<ContainersParts, 'yieldMs' | 'waitForSave'> = {},
  ) {
    const driver = createFakeSandboxes();
    const bus = createBus(network.join());
    const logged: { message: LogMessage; fields: unknown }[] = [];
    const counts = { started: 0, ended: 0, failed: [] as string[] };
    const containers: RunningContainers = createContainers({
      driver,
      problem: undefined,
      store,
      objects,
      files,
      openEgress,
      bus,
      now: Date.now,
      ...more,
      settings: () => ({ ...settings, ...changed }),
      log: (message, fields) => void logged.push({ message, fields }),
      counts: {
        started: () => void counts.started++,
        ended: () => void counts.ended++,
        failed: (reason) => void counts.failed.push(reason),
      },
    });
    opened.push(containers);
    const open = (id: string, more: Partial<ContainerRequest> = {}, by = caller) =>
      containers.open(by, { id, compute: 'bash', signal: new AbortController().signal, ...more });
    return { driver, containers, open, logged, counts };
  }
  const find = (id: string, by = caller) => findContainerAt(storage.containers, placeContainer(by, id, 'member'));
  const list = async (id: string, by = caller): Promise<Record<string, number>> => {
    const container = await find(id, by);
    if (!container) return {};
    const query = { containerKey: container.key, limit: 1000, maxScanned: 10_000 };
    const page = await storage.containers.listFiles(query);
    return Object.fromEntries(page.files.map(({ path, bytes }) => [path, bytes]));
  };
  return { storage, disk, files, failing, gate, caller, createCaller, workspaceId, openProcess, find, list };
}

const run = (
  container: OpenContainer,
  command: FakeCommand,
  { signal = new AbortController().signal, timeoutMs = 60_000, maxOutputLength = 1000 } = {},
) => container.run({ command: JSON.stringify(command), timeoutMs, maxOutputLength, signal });

const cite = (id: string, path: string) => ({
  type: 'container_file_citation',
  container_id: id,
  file_id: `cfile_${Buffer.from(path).toString('base64url')}`,
  filename: path,
  start_index: 0,
  end_index: 0,
});

describe('containers', () => {
  it('save what a command changes, and cite its files', async () => {
    const { openProcess, list } = await openHost();
    const { open, counts } = openProcess();
    const container = await open('c');
    const made = await run(container, {
      write: { 'out/a.txt': 'one', 'ä 📦.md': 'two' },
      link: { link: '/etc/passwd' },
      makeFolders: ['empty'],
      stdout: 'done',
    });
    expect(made).toEqual({
      stdout: 'done',
      stderr: '',
      outcome: { type: 'exit', exit_code: 0 },
      files: [cite('c', 'ä 📦.md'), cite('c', 'out/a.txt')],
      notes: [],
    });
    expect(await list('c')).toEqual({ 'out/a.txt': 3, [Buffer.from('ä 📦.md').toString('latin1')]: 3 });

    const changed = await run(container, { remove: ['out/a.txt'], write: { b: '' }, exit: 3, stderr: 'no' });
    expect(changed).toMatchObject({ stderr: 'no', outcome: { exit_code: 3 }, files: [cite('c', 'b')] });
    expect(Object.keys(await list('c'))).toEqual(['b', Buffer.from('ä 📦.md').toString('latin1')]);
    expect((await run(container, {})).files).toEqual([]);
    expect(counts).toEqual({ started: 1, ended: 0, failed: [] });
  });

  it('cite the ten most recently changed files', async () => {
    const { open } = (await openHost()).openProcess();
    const names = Array.from({ length: 14 }, (_, index) => `f${index}`);
    const { files } = await run(await open('c'), { write: Object.fromEntries(names.map((name) => [name, name])) });
    expect(files.map(({ filename }) => filename)).toEqual(names.toReversed().slice(0, 10));
  });

  it('continue with their files after a stop, in another process', async () => {
    const { openProcess } = await openHost();
    const one = openProcess();
    const large = 'x'.repeat(1_500_000);
    await run(await one.open('c'), {
      write: { 'dir/a': 'one', large, empty: '' },
      makeFolders: ['dir/none'],
      link: { 'dir/link': '../large' },
    });
    const [first] = one.driver.running.values();
    const paths = first!.listPaths();
    await one.containers.close();
    expect(one.driver.running.size).toBe(0);

    const two = openProcess();
    const container = await two.open('c');
    expect([...two.driver.running.values()][0]!.listPaths()).toEqual(paths);
    expect((await run(container, { print: 'dir/a' })).stdout).toBe('one');
    expect((await container.read('large', 3_000_000))?.toString()).toBe(large);
    const [second] = two.driver.running.values();
    const readBefore = second!.readBytes;
    expect((await container.read('large', 30))?.toString()).toBe('x'.repeat(30));
    expect(second!.readBytes - readBefore).toBeLessThan(large.length / 2); // not the whole file
    expect(await container.read('none', 3)).toBeUndefined();
    expect((await run(container, {})).files).toEqual([]); // nothing changed
  });

  it('share saved files between kinds of tools, which run in sandboxes of their own', async () => {
    const { openProcess, list } = await openHost();
    const { open, driver } = openProcess();
    const [bash, shell] = [await open('c'), await open('c', { compute: 'shell' })];
    expect(driver.running.size).toBe(2);
    await run(bash, { write: { 'dir/a': 'one', b: 'bash' } });
    expect((await run(shell, { print: 'dir/a', write: { b: 'shell' } })).stdout).toBe('one');
    expect((await run(bash, { print: 'b' })).stdout).toBe('shell');
    await run(shell, { remove: ['dir', 'b'], write: { dir: 'a file now' } });
    const { stdout, files } = await run(bash, { print: 'dir' });
    expect(stdout).toBe('a file now');
    expect(files).toEqual([]); // the other one changed it
    expect(await list('c')).toEqual({ dir: 10 });
  });

  it('keep a file that one tool saves in a folder that another one deletes', async () => {
    const { openProcess, list } = await openHost();
    const { open, driver } = openProcess();
    const [bash, shell] = [await open('c'), await open('c', { compute: 'shell' })];
    await run(bash, { write: { 'dir/a': 'a' } });
    const deleting = run(shell, { waitFor: 'go', remove: ['dir'] });
    await driver.reached('go');
    await run(bash, { write: { 'dir/b': 'b' } });
    driver.pass('go');
    await deleting;
    expect((await run(bash, { print: 'dir/b' })).stdout).toBe('b');
    expect((await run(shell, { print: 'dir/b' })).stdout).toBe('b');
    expect(await list('c')).toEqual({ 'dir/b': 1 });
  });

  it('belong to the member, to the organization or to the intern whose key has created them', async () => {
    const { openProcess, createCaller, list } = await openHost();
    const { open, driver } = openProcess({ maxRunningTotal: 9 });
    const callers = [
      createCaller(),
      createCaller({ memberId: 'bob' }),
      createCaller({ memberId: 'organization' }),
      createCaller({ memberId: 'ada@member:bob' }),
      createCaller({ internId: 'ada' }),
      createCaller({ kind: 'organization', memberId: null }),
    ];
    for (const [index, by] of callers.entries()) {
      expect(await list('c', by)).toEqual({});
      const container = await open('c', {}, by);
      expect((await run(container, { print: 'a' })).stdout).toBe('');
      const { files } = await run(container, { write: { a: 'x'.repeat(index + 1) } });
      expect(files).toEqual([cite('c', 'a')]);
    }
    for (const [index, by] of callers.entries()) expect(await list('c', by)).toEqual({ a: index + 1 });
    expect(driver.running.size).toBe(callers.length);
    const otherKey = createCaller({ keyHash: 'another key of ada' });
    expect((await run(await open('c', {}, otherKey), { print: 'a' })).stdout).toBe('x');
    expect(driver.running.size).toBe(callers.length);
  });

  it('belong to the workspace if the operator wants it', async () => {
    const { openProcess, createCaller, storage, workspaceId } = await openHost();
    const { open, driver } = openProcess({ owner: 'workspace' });
    await run(await open('c'), { write: { a: 'one' } });
    const bob = createCaller({ memberId: 'bob' });
    expect((await run(await open('c', {}, bob), { print: 'a' })).stdout).toBe('one');
    expect(driver.running.size).toBe(1);
    expect(await storage.containers.findContainer(workspaceId, 'c')).toMatchObject({ entries: 1 });
    const elsewhere = createCaller({ workspaceId: 'w2' });
    expect((await run(await open('c', {}, elsewhere), { print: 'a' })).stdout).toBe('');
  });

  it('of the workspace stay as they are, and each member who uses one continues with a copy', async () => {
    const { openProcess, createCaller, list } = await openHost();
    const large = 'x'.repeat(1_500_000);
    const before = openProcess({ owner: 'workspace' });
    await run(await before.open('c'), {
      write: { 'dir/a': 'one', b: 'two', large },
      makeFolders: ['empty'],
      link: { link: 'b' },
    });
    const [first] = before.driver.running.values();
    const paths = first!.listPaths();
    await before.containers.close();

    const bob = createCaller({ memberId: 'bob' });
    const all = { 'dir/a': 3, b: 3, large: 1_500_000 };
    for (const by of [undefined, bob]) expect(await list('c', by)).toEqual(all);
    const { open, driver } = openProcess();
    const container = await open('c');
    expect([...driver.running.values()][0]!.listPaths()).toEqual(paths);
    const done = await run(container, { print: 'dir/a', write: { mine: '1' }, remove: ['b'] });
    expect(done).toMatchObject({ stdout: 'one', files: [cite('c', 'mine')] });
    expect((await container.read('large', 3_000_000))?.toString()).toBe(large);
    expect(await list('c')).toEqual({ 'dir/a': 3, large: 1_500_000, mine: 1 });
    expect(await list('c', bob)).toEqual(all);
    await run(await open('c', {}, bob), { remove: ['dir', 'large', 'b', 'empty', 'link'] });
    expect(await list('c', bob)).toEqual({});

    await driver.close();
    await openProcess().open('c', {}, bob);
    expect(await list('c', bob)).toEqual({}); // it has its own files now, although there are none
  });

  it.each(['member', 'workspace'] as const)('of an intern are its own if others belong to the %s', async (owner) => {
    const { openProcess, list, createCaller } = await openHost();
    const before = openProcess({ owner: 'workspace' });
    await run(await before.open('c'), { write: { secret: 'of the workspace' } });
    await before.containers.close();
    const { open } = openProcess({ owner });
    const intern = createCaller({ internId: 'scout' });
    const own = await open('c', {}, intern);
    expect(await own.read('secret', 100)).toBeUndefined();
    await run(own, { write: { note: 'mine' } });
    expect(await list('c', intern)).toEqual({ note: 4 });
    expect(await list('c')).toEqual({ secret: 16 });
  });

  it('save changes of failed, timed-out and cancelled commands', async () => {
    const { openProcess, list } = await openHost();
    const { open, driver } = openProcess();
    const container = await open('c');
    const [sandbox] = driver.running.values();
    await sandbox!.change({ write: { a: 'in the background' } });
    expect((await run(container, { waitFor: 'never' }, { timeoutMs: 1 })).outcome).toEqual({ type: 'timeout' });
    expect(await list('c')).toEqual({ a: 17 });

    const cancelled = new AbortController();
    const running = run(container, { waitFor: 'cancelled' }, { signal: cancelled.signal });
    await driver.reached('cancelled');
    await sandbox!.change({ write: { b: 'before the end' } });
    const reason = new Error('the client disconnected');
    cancelled.abort(reason);
    await expect(running).rejects.toBe(reason);
    await run(container, {}); // after the save
    expect(await list('c')).toEqual({ a: 17, b: 14 });
  });

  it('report output that was cut, as text', async () => {
    const { open } = (await openHost()).openProcess();
    const container = await open('c');
    const { stdout } = await run(container, { stdout: `${'a'.repeat(999)}📦 and more` });
    expect(stdout).toBe(`${'a'.repeat(999)}\n[13 more bytes were dropped]\n`);
    const { stderr } = await run(container, { stderr: `${'ü'.repeat(3000)}` });
    expect(stderr).toBe(`${'ü'.repeat(1000)}\n[4000 more bytes were dropped]\n`);
    const output: string[] = [];
    await container.run({
      command: JSON.stringify({ stdout: 'x'.repeat(50) }),
      timeoutMs: 1000,
      maxOutputLength: 9,
      signal: new AbortController().signal,
      onOutput: (stream, text) => void output.push(stream, text),
    });
    expect(output).toEqual(['stdout', 'x'.repeat(9)]);
  });

  it('run several commands at once, and save after each', async () => {
    const { openProcess, list } = await openHost();
    const { open, driver } = openProcess();
    const container = await open('c');
    const waiting = run(container, { waitFor: 'go', write: { late: '1' } });
    await driver.reached('go');
    await run(container, { write: { early: '22' } });
    expect(await list('c')).toEqual({ early: 2 });
    driver.pass('go');
    expect((await waiting).files).toEqual([cite('c', 'late')]);
    expect(await list('c')).toEqual({ early: 2, late: 1 });
  });

  it('write a file, and refuse paths outside the home folder', async () => {
    const { openProcess, list } = await openHost();
    const container = await openProcess().open('c');
    expect(await container.write('dir/ü.txt', Buffer.from('text'))).toEqual(cite('c', 'dir/ü.txt'));
    expect(await list('c')).toEqual({ [Buffer.from('dir/ü.txt').toString('latin1')]: 4 });
    for (const path of ['', '/etc/passwd', '../x', 'a/../b', 'a//b', 'a\0b', './a', '\ud800']) {
      await expect(container.write(path, Buffer.alloc(1)), path).rejects.toThrow(ToolError);
      await expect(container.read(path, 1), path).rejects.toThrow(ToolError);
    }
  });

  it('attach files of the workspace as writable copies', async () => {
    const { openProcess, files, workspaceId, caller, list, createCaller } = await openHost();
    const file = await createFile(
      files,
      { keyHash: 'k' },
      {
        workspaceId,
        filename: 'reports/data.csv',
        downloadable: false,
        content: (async function* () {
          yield Buffer.from('a,b');
        })(),
      },
    );
    const { containers, open } = openProcess();
    const name = `${file.id.slice(-8)}-data.csv`;
    const unknown = 'file_wunknown';
    expect(await containers.findUnknownFiles(caller, [file.id, unknown])).toEqual([unknown]);
    expect(await containers.findUnknownFiles(createCaller({ workspaceId: 'w2' }), [file.id])).toEqual([file.id]);
    const container = await open('c', { fileIds: [file.id, file.id] });
    expect(await list('c')).toEqual({ [name]: 3 });
    await run(container, { write: { [name]: 'changed' } });
    const again = await open('c', { fileIds: [file.id] });
    expect((await run(again, { print: name })).stdout).toBe('changed');
    await expect(open('c', { fileIds: [unknown] })).rejects.toThrow('There is no file "file_wunknown"');
  });

  it('say why their driver does not work, and try it again', async () => {
    const { openProcess } = await openHost();
    const { driver, containers, open } = openProcess();
    const probe = vi.spyOn(driver, 'probe').mockResolvedValueOnce('Install it.');
    expect(containers.problem).toBeUndefined(); // not tried yet
    await expect(open('c')).rejects.toThrow('Install it.');
    expect(containers.problem).toBe('Install it.');
    await expect(open('c')).rejects.toThrow('Install it.');
    expect(probe).toHaveBeenCalledTimes(1);
    const later = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 11_000);
    probe.mockRejectedValueOnce(new Error('no service'));
    await expect(open('c')).rejects.toThrow('The sandbox driver simulation failed: Error: no service');
    later.mockReturnValue(performance.now() + 11_000);
    await open('c');
    expect(containers.problem).toBeUndefined();
    later.mockRestore();
  });

  it('belong to their workspace', async () => {
    const { openProcess, createCaller } = await openHost();
    const { open, driver } = openProcess();
    await run(await open('c'), { write: { a: 'secret' } });
    const foreign = await open('c', {}, createCaller({ workspaceId: 'w2', memberId: 'bob' }));
    expect((await run(foreign, { print: 'a' })).stdout).toBe('');
    expect(driver.running.size).toBe(2);
  });

  it('have one network policy while they run', async () => {
    const { openProcess, caller } = await openHost();
    const egress: string[] = [];
    const { open, containers, driver } = openProcess({}, async ({ name, allowedDomains }) => {
      egress.push(`open ${(allowedDomains as readonly string[]).join(' ')}`);
      return { network: { proxySocket: `/proxy/${name}` }, close: async () => void egress.push('close') };
    });
    const network = { allowedDomains: ['b.example', 'a.example'] };
    await open('c', { network });
    await open('c', { network: { allowedDomains: ['a.example', 'b.example'] } });
    expect(driver.specs[0]?.network?.proxySocket).toMatch(/^\/proxy\//);
    await expect(open('c')).rejects.toMatchObject({ kind: 'conflict' });
    expect(await containers.findConflict(caller, { id: 'c', compute: 'bash' })).toContain('another network_policy');
    expect(await containers.findConflict(caller, { id: 'c', compute: 'bash', network })).toBeUndefined();
    expect(await containers.findConflict(caller, { id: 'c', compute: 'shell' })).toBeUndefined();
    expect(await containers.findConflict(caller, { id: 'new', compute: 'bash' })).toBeUndefined();
    const other = openProcess();
    await expect(other.open('c')).rejects.toMatchObject({ kind: 'conflict' });
    await containers.close();
    expect(egress).toEqual(['open b.example a.example', 'close']);
    await other.open('c');
    await expect(other.open('d', { network })).rejects.toThrow('Containers of this gateway have no network');
  });

  it('are limited for a member in all processes, and for a process', async () => {
    const { openProcess, createCaller } = await openHost();
    const [one, two] = [openProcess({ maxRunningTotal: 6 }), openProcess()];
    for (const id of ['a', 'b']) await one.open(id);
    await two.open('c');
    await expect(two.open('d')).rejects.toThrow(/^3 containers are running.*tools\.sandbox\.max_running/);
    for (const member of ['bob', null]) await one.open('d', {}, createCaller({ memberId: member })).catch(() => {});
    const carol = createCaller({ memberId: 'carol' });
    await one.open('e', {}, carol);
    await one.open('f', {}, carol);
    await expect(one.open('g', {}, carol)).rejects.toThrow('tools.sandbox.max_running_total');
  });

  it('give the place of an idle sandbox to another one, also in another process', async () => {
    const { openProcess, list } = await openHost();
    const [one, two] = [openProcess({}, undefined, { yieldMs: 0 }), openProcess({}, undefined, { yieldMs: 0 })];
    await run(await one.open('a'), { write: { a: '1' } });
    const busy = run(await one.open('b'), { waitFor: 'go' });
    await one.driver.reached('go');
    await one.open('c');
    await run(await one.open('d'), {}); // in the place of a
    expect(await list('a')).toEqual({ a: 1 });
    expect([...one.driver.running.values()]).toHaveLength(3);
    await run(await two.open('e'), {}); // in the place of c
    expect(one.driver.running.size).toBe(2);
    expect(two.driver.running.size).toBe(1);
    one.driver.pass('go');
    await busy;
  });

  it('give the place of an earlier request to the next one at once', async () => {
    const { openProcess } = await openHost();
    const { open, driver } = openProcess();
    for (let request = 0; request < 8; request++) await run(await open(`gen_${request}`), { write: { a: '1' } });
    expect(driver.running.size).toBe(3);
    const busy = run(await open('gen_8'), { waitFor: 'go' });
    await driver.reached('go');
    for (const id of ['a', 'b']) await open(id);
    await expect(open('c')).rejects.toThrow('tools.sandbox.max_running');
    driver.pass('go');
    await busy;
  });

  it('stop when they are idle, with what processes in the background have changed', async () => {
    const { openProcess, list } = await openHost();
    const { open, driver, counts } = openProcess({ idleMs: 300 });
    const container = await open('c');
    const [sandbox] = driver.running.values();
    await sandbox!.change({ write: { log: 'later' } });
    await aborted(sandbox!.ended);
    await expect.poll(() => counts.ended).toBe(1);
    expect(await list('c')).toEqual({ log: 5 });
    expect((await run(container, { print: 'log' })).stdout).toBe('later'); // in a new sandbox
    expect(counts.started).toBe(2);
  });

  it('move to the process of the next command, after the running one', async () => {
    const { openProcess, list } = await openHost();
    const [one, two] = [openProcess(), openProcess()];
    const first = await one.open('c');
    const running = run(first, { waitFor: 'go', write: { a: '1' } });
    await one.driver.reached('go');
    const taking = two.open('c');
    one.driver.pass('go');
    expect((await running).files).toEqual([cite('c', 'a')]);
    const second = await taking;
    expect((await run(second, { print: 'a', write: { b: '2' } })).stdout).toBe('1');
    expect(one.driver.running.size).toBe(0);
    expect((await run(first, { print: 'b' })).stdout).toBe('2'); // and back
    expect(await list('c')).toEqual({ a: 1, b: 1 });
  });

  it('give a call up that waits for another process when it is cancelled', async () => {
    const { openProcess } = await openHost();
    const [one, two] = [openProcess(), openProcess()];
    const running = run(await one.open('c'), { waitFor: 'go' });
    await one.driver.reached('go');
    const cancelled = new AbortController();
    const waiting = two.open('c', { signal: cancelled.signal });
    const reason = new Error('enough');
    cancelled.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    one.driver.pass('go');
    await running;
    expect(two.driver.specs).toEqual([]);
    await two.open('c');
  });

  it('refuse the save of a sandbox whose lease another one has', async () => {
    const { openProcess, storage, list, find } = await openHost();
    const { open, driver, counts, logged } = openProcess();
    const container = await open('c');
    const { key } = (await find('c'))!;
    const running = run(container, { waitFor: 'go', write: { a: '1' } });
    await driver.reached('go');
    await storage.containers.releaseAllLeases();
    const now = Date.now();
    const taken = { token: 't', containerKey: key, compute: 'bash', holder: 'h', policy: '', maxHeld: 9 };
    await storage.containers.acquireLease({ ...taken, startedAtMs: now, untilMs: now + 60_000 });
    driver.pass('go');
    await expect(running).rejects.toThrow('Another process of the gateway runs this container now');
    expect(await list('c')).toEqual({});
    expect(counts.failed).toEqual(['save', 'lease']);
    expect(logged.map(({ message }) => message)).toEqual(['container save failed', 'sandbox ended']);
    await storage.containers.releaseLease('t', Date.now());
    await run(await open('c'), { write: { b: '2' } });
    expect(await list('c')).toEqual({ b: 1 });
  });

  it('report a container that was removed while it ran, and create it again', async () => {
    const { openProcess, storage, list, find } = await openHost();
    const { open, driver } = openProcess();
    const container = await open('c');
    await run(container, { write: { old: '1' } });
    const running = run(container, { waitFor: 'go', write: { a: '1' } });
    await driver.reached('go');
    await storage.containers.deleteContainer((await find('c'))!.key);
    driver.pass('go');
    await expect(running).rejects.toThrow('The container was removed while the command ran');
    await run(container, { write: { b: '2' } });
    expect(await list('c')).toEqual({ b: 1 });
  });

  it.each([
    'objects',
    'store',
  ] as const)('say that changes are not saved without the %s, and save them later', async (part) => {
    const { openProcess, failing, list } = await openHost();
    const { open, logged } = openProcess();
    const container = await open('c');
    failing[part] = true;
    const unsaved = await run(container, { write: { a: '1' }, stdout: 'done' });
    expect(unsaved).toMatchObject({ stdout: 'done', files: [] });
    expect(unsaved.notes).toEqual([expect.stringContaining('The changes are not saved yet.')]);
    await expect(container.write('c', Buffer.from('3'))).rejects.toThrow('The changes are not saved yet.');
    expect(logged.map(({ message }) => message)).toEqual(['container save failed', 'container save failed']);
    failing[part] = false;
    const next = await run(container, { write: { b: '2' } });
    expect(next.files.map(({ filename }) => filename).sort()).toEqual(['a', 'b', 'c']);
    expect(next.notes).toEqual([]);
    expect(await list('c')).toEqual({ a: 1, b: 1, c: 1 });
  });

  it('do not keep a call waiting for a save that takes too long', async () => {
    const { openProcess, gate, list } = await openHost();
    const reached = Promise.withResolvers<void>();
    const { open, driver } = openProcess({}, undefined, { waitForSave: () => reached.promise });
    const container = await open('c');
    const { promise, resolve } = Promise.withResolvers<void>();
    Object.assign(gate, { opened: promise, reached: reached.resolve });
    const { stdout, notes } = await run(container, { write: { a: '1' }, stdout: 'done' });
    expect({ stdout, notes }).toEqual({ stdout: 'done', notes: ['The changes are still being saved.'] });
    await expect(run(container, {})).rejects.toThrow('The files of an earlier command are still being saved.');
    resolve();
    await vi.waitFor(async () => expect(await list('c')).toEqual({ a: 1 }));
    expect(driver.running.size).toBe(1);
  });

  it('start again at once while the sandbox that ended is still being removed', async () => {
    const { openProcess } = await openHost();
    const { open, driver } = openProcess();
    const container = await open('c');
    await run(container, { write: { a: '1' } });
    const [sandbox] = driver.running.values();
    const removal = Promise.withResolvers<void>();
    vi.spyOn(sandbox!, 'stop').mockReturnValue(removal.promise);
    await expect(run(container, { crash: true })).rejects.toThrow('more than its memory');
    expect((await run(container, { print: 'a' })).stdout).toBe('1');
    removal.resolve();
  });

  it('say which limit the files of all tools together exceed', async () => {
    const { openProcess, list } = await openHost();
    const { open } = openProcess({ limits: { ...settings.limits, diskBytes: 10, diskEntries: 3 } });
    const [bash, shell] = [await open('c'), await open('c', { compute: 'shell' })];
    await run(bash, { write: { a: '12345678' } });
    const { stdout, notes } = await run(shell, { write: { b: '123' }, stdout: 'done' });
    expect(stdout).toBe('done');
    expect(notes).toEqual([expect.stringContaining('10 bytes (tools.sandbox.disk), so not all changes are saved')]);
    expect((await run(shell, { print: 'a' })).stdout).toBe('12345678');
    await expect(shell.write('c', Buffer.from('1234'))).rejects.toThrow('10 bytes (tools.sandbox.disk)');
    await run(shell, { remove: ['a'], write: { b: '12', c: '', d: '' } });
    expect(await list('c')).toEqual({ b: 2, c: 0, d: 0 });
    expect((await run(shell, { write: { e: '' } })).notes).toEqual([expect.stringContaining('more than 3 files')]);
  });

  it.each([
    `${'deep/'.repeat(400)}file`,
    `${'d/'.repeat(200)}f`,
  ])('save everything but a path that is too long, and say so: %#', async (path) => {
    const { openProcess, list } = await openHost();
    const container = await openProcess().open('c');
    const message = `The path "${path.slice(0, 300)}"… is longer than 2000 bytes or 200 levels and is not saved.`;
    const first = await run(container, { write: { [path]: '1', a: '2' }, stdout: 'done' });
    expect(first).toMatchObject({ stdout: 'done', notes: [expect.stringContaining(message)], files: [cite('c', 'a')] });
    expect(await list('c')).toEqual({ a: 1 });
    expect(await run(container, { print: 'a' })).toMatchObject({ stdout: '2', notes: first.notes, files: [] });
    await container.write('b', Buffer.from('3'));
    await expect(container.write(path, Buffer.from('3'))).rejects.toThrow(message);
    expect(await run(container, { remove: [path.split('/')[0]!] })).toMatchObject({ notes: [] });
    expect(await list('c')).toEqual({ a: 1, b: 1 });
  });

  it('report why a sandbox has ended, and start another one', async () => {
    const { openProcess } = await openHost();
    const { open, counts, driver } = openProcess();
    const container = await open('c');
    await run(container, { write: { a: '1' } });
    await expect(run(container, { crash: true })).rejects.toThrow('more than its memory');
    expect((await run(container, { print: 'a' })).stdout).toBe('1');
    expect(counts).toEqual({ started: 2, ended: 1, failed: ['crash'] });
    expect(driver.running.size).toBe(1);
  });

  it('save many files in few objects, which are removed when no file needs them', async () => {
    const { openProcess, disk, list } = await openHost();
    const { open } = openProcess();
    const container = await open('c');
    const names = Array.from({ length: 1200 }, (_, index) => `dir/${index}`);
    await run(container, { write: Object.fromEntries(names.map((name) => [name, name])) });
    const count = async () => (await disk.list({ prefix: 'containers/', limit: 1000 })).length;
    expect(Object.keys(await list('c'))).toHaveLength(1000);
    expect(await count()).toBe(3);
    await run(container, { remove: names });
    expect(await count()).toBe(0);
    expect(await list('c')).toEqual({});
  });
});

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve())));
