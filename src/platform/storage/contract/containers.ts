import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTimedId } from '../../../domain/ids.ts';
import {
  type ContainerEntry,
  type ContainerRecord,
  type ContainerStore,
  MAX_SAVED_PATH_BYTES,
  type NewLease,
} from '../ports/containers.ts';
import { change, createWorkspaceDetails, happening, type StoragePair, saveTestWorkspace } from './samples.ts';

const noLimits = { bytes: Number.MAX_SAFE_INTEGER, entries: Number.MAX_SAFE_INTEGER };
const now = 1_790_000_000_000;

/** Tests the contract of containers. */
export function testContainers(pair: () => StoragePair): void {
  const toText = (text: string): string => Buffer.from(text).toString('latin1');

  async function addWorkspace(): Promise<string> {
    const workspace = createWorkspaceDetails();
    await saveTestWorkspace(pair(), workspace);
    return workspace.id;
  }
  const useNew = async (workspaceId: string, id: string, atMs = now): Promise<ContainerRecord> =>
    (await pair().storage.containers.useContainer(workspaceId, id, createTimedId(''), atMs))!;
  const createLease = (containerKey: string, fields: Partial<NewLease> = {}): NewLease => ({
    token: randomUUID(),
    containerKey,
    compute: 'bash',
    holder: randomUUID(),
    policy: '',
    startedAtMs: now,
    untilMs: now + 1000,
    maxHeld: 10,
    ...fields,
  });
  const createEntry = (path: string, fields: Partial<ContainerEntry> = {}): ContainerEntry => ({
    path: toText(path),
    kind: 'file',
    bytes: 3,
    mode: 0o644,
    modifiedAtMs: now - 5,
    target: null,
    content: { object: 'o1', offset: 7 },
    ...fields,
  });
  const lost = { path: 'lost \xff', kind: 'file' } as const;

  /** A container with a lease. */
  async function open() {
    const { key } = await useNew(await addWorkspace(), 'c');
    const lease = createLease(key);
    await pair().storage.containers.acquireLease(lease);
    const save = (
      entries: readonly ContainerEntry[],
      deleted: readonly string[] = [],
      by: ContainerStore = pair().storage.containers,
      limits = noLimits,
    ) =>
      by.saveEntries({
        containerKey: key,
        token: lease.token,
        entries,
        deleted: deleted.map(toText),
        atMs: now,
        limits,
      });
    const list = async (query: { after?: string; limit?: number; maxScanned?: number } = {}) => {
      const { after, ...more } = query;
      const page = await pair().other.containers.listFiles({
        containerKey: key,
        limit: 1000,
        maxScanned: 10_000,
        ...more,
        after: after === undefined ? undefined : toText(after),
      });
      return { paths: page.files.map(({ path }) => Buffer.from(path, 'latin1').toString()), next: page.next };
    };
    return { key, lease, save, list };
  }

  describe('containers', () => {
    it('are found in their workspace only, and deleted with it', async () => {
      const { storage, other } = pair();
      const [workspaceId, foreign] = [await addWorkspace(), await addWorkspace()];
      const created = await useNew(workspaceId, 'b');
      expect(created).toEqual({
        key: created.key,
        workspaceId,
        id: 'b',
        createdAtMs: now,
        usedAtMs: now,
        version: 0,
        bytes: 0,
        entries: 0,
      });
      expect(await useNew(workspaceId, 'b', now + 9)).toEqual({ ...created, usedAtMs: now + 9 });
      expect((await useNew(foreign, 'b')).key).not.toBe(created.key);
      const first = await useNew(workspaceId, 'a');

      const { containers } = other;
      expect(await containers.findContainer(workspaceId, 'b')).toMatchObject({ key: created.key });
      expect(await containers.findContainer(workspaceId, 'B')).toBeUndefined();
      expect(await containers.findContainer(workspaceId, '\0')).toBeUndefined();
      const list = async (after?: string, limit = 9) =>
        (await containers.listContainers({ workspaceId, after, limit })).map(({ id }) => id);
      expect(await list()).toEqual(['a', 'b']);
      expect(await list('a')).toEqual(['b']);
      expect(await list(undefined, 1)).toEqual(['a']);
      expect(await containers.listExistingContainers([created.key, 'none'])).toEqual([created.key]);
      expect(await containers.listExistingContainers([])).toEqual([]);

      expect(await containers.deleteContainer(first.key)).toBe(true);
      expect(await storage.containers.deleteContainer(first.key)).toBe(false);
      await storage.management.change(change, async (transaction) => {
        await transaction.deleteWorkspace(workspaceId);
        await transaction.record(happening());
      });
      expect(await list()).toEqual([]);
      expect(await containers.useContainer(workspaceId, 'b', 'key', now)).toBeUndefined();
    });

    it('are unused if no tool opened them since then and nothing runs', async () => {
      const { containers } = pair().storage;
      const workspaceId = await addWorkspace();
      const [old, running] = [await useNew(workspaceId, 'old', 5), await useNew(workspaceId, 'running', 6)];
      await useNew(workspaceId, 'new', 10);
      const kept = await useNew(workspaceId, `intern:${workspaceId}`, 1); // as long as the intern
      expect(await containers.findContainers(`intern:${workspaceId}`)).toEqual([kept]);
      await containers.acquireLease(createLease(running.key, { startedAtMs: 7, untilMs: 20 }));
      const list = async (nowMs: number) => {
        const found = await containers.listUnusedContainers({ beforeMs: 10, nowMs, limit: 1000 });
        return found.filter((each) => each.workspaceId === workspaceId).map(({ key }) => key);
      };
      expect(await list(19)).toEqual([old.key]);
      expect(await list(20)).toEqual([old.key, running.key]);
      expect(await containers.deleteContainer(running.key, { beforeMs: 10, nowMs: 19 })).toBe(false);
      await useNew(workspaceId, 'old', 11);
      expect(await containers.deleteContainer(old.key, { beforeMs: 10, nowMs: 20 })).toBe(false);
      expect(await containers.deleteContainer(running.key, { beforeMs: 10, nowMs: 20 })).toBe(true);
    });

    it('have one lease for each kind of tool, which another sandbox gets when it ends', async () => {
      const { storage, other } = pair();
      const workspaceId = await addWorkspace();
      const { key } = await useNew(workspaceId, 'c');
      const find = () => other.containers.findContainer(workspaceId, 'c');
      const lease = createLease(key, { policy: 'a.example' });
      const { maxHeld: _, ...shown } = lease;
      const acquire = (fields: Partial<NewLease>) => other.containers.acquireLease(createLease(key, fields));

      expect(await storage.containers.acquireLease(lease)).toBeUndefined();
      expect(await acquire({})).toEqual({ reason: 'held', lease: { ...shown, stop: 'none' } });
      expect(await acquire({ compute: 'shell' })).toBeUndefined();
      expect(await acquire({ startedAtMs: lease.untilMs - 1 })).toMatchObject({ reason: 'held' });
      expect(await storage.containers.renewLeases([lease.token, 'none'], now + 2000)).toEqual([
        { token: lease.token, stop: 'none' },
      ]);
      expect(await acquire({ startedAtMs: lease.untilMs })).toMatchObject({ reason: 'held' });
      expect((await other.containers.listLeases(key, now + 1000)).map(({ token }) => token)).toEqual([lease.token]);

      await other.containers.requestStop(lease.token, 'now');
      await other.containers.requestStop(lease.token, 'idle');
      expect(await storage.containers.renewLeases([lease.token], now + 2000)).toMatchObject([{ stop: 'now' }]);
      const next = createLease(key, { startedAtMs: now + 2000, untilMs: now + 3000 });
      expect(await other.containers.acquireLease(next)).toBeUndefined();
      expect(await storage.containers.renewLeases([lease.token], now + 9000)).toEqual([]);
      expect(await storage.containers.renewLeases([], now)).toEqual([]);
      await storage.containers.releaseLease(lease.token, now + 7000); // changes nothing
      expect(await acquire({ startedAtMs: now + 2500 })).toMatchObject({ reason: 'held' });
      await storage.containers.releaseLease(next.token, now + 2400);
      expect(await find()).toMatchObject({ usedAtMs: now + 2400 });
      expect(await acquire({ startedAtMs: now + 2500 })).toBeUndefined();
      await storage.containers.deleteContainer(key);
      expect(await acquire({})).toEqual({ reason: 'gone' });
    });

    it('never exceed the leases of a holder, also if two processes start sandboxes at once', async () => {
      const { storage, other } = pair();
      const workspaceId = await addWorkspace();
      const holder = randomUUID();
      const found = await Promise.all(
        Array.from({ length: 8 }, async (_, index) => {
          const { key } = await useNew(workspaceId, `c${index}`);
          const { containers } = index % 2 === 0 ? storage : other;
          return containers.acquireLease(createLease(key, { holder, maxHeld: 3 }));
        }),
      );
      expect(found.filter((refusal) => refusal === undefined)).toHaveLength(3);
      for (const refusal of found.filter((each) => each !== undefined)) {
        expect(refusal).toMatchObject({ reason: 'limit', leases: [{ holder }, { holder }, { holder }] });
      }
    });

    it('keep the saved entries with their versions, and tell deletions', async () => {
      const { key, save } = await open();
      const { containers } = pair().other;
      const folder = createEntry('dir', { kind: 'folder', bytes: 0, mode: 0o755, content: null });
      const link = createEntry('link', { kind: 'link', bytes: 0, target: '/etc/\xff', content: null });
      const file = createEntry('dir/näh 📦');
      const saved = { savedAtMs: now, isDeleted: false };
      expect(await save([folder, file, link])).toEqual({ version: 1, released: [] });
      expect(await save([{ ...file, bytes: 9, content: { object: 'o2', offset: 0 } }])).toEqual({
        version: 2,
        released: ['o1'],
      });
      expect(await save([createEntry('empty', { bytes: 0, content: null })], ['link', 'never'])).toEqual({
        version: 3,
        released: [],
      });

      const entries = await containers.listEntries({ containerKey: key, after: { version: 0 }, limit: 9 });
      expect(entries.map(({ path, version, isDeleted }) => [path, version, isDeleted])).toEqual([
        ['dir', 1, false],
        [file.path, 2, false],
        ['empty', 3, false],
        ['link', 3, true],
        ['never', 3, true],
      ]);
      expect(entries[0]).toEqual({ ...folder, ...saved, version: 1 });
      const rest = await containers.listEntries({ containerKey: key, after: { version: 3, path: 'empty' }, limit: 1 });
      expect(rest.map(({ path }) => path)).toEqual(['link']);
      expect(await containers.listEntries({ containerKey: key, after: { version: 3 }, limit: 9 })).toEqual([]);
      expect(await containers.findEntry(key, file.path)).toMatchObject({ bytes: 9, content: { object: 'o2' } });
      expect(await containers.findEntry(key, 'link')).toBeUndefined();
      expect(await containers.findEntry('none', file.path)).toBeUndefined();
      await save([link]);
      expect(await containers.findEntry(key, 'link')).toEqual({ ...link, ...saved, version: 4 });
    });

    it('refuse saves without a lease, and beyond a limit', async () => {
      const { key, lease, save } = await open();
      const { storage, other } = pair();
      await save([createEntry('a'), createEntry('b')]);
      const limits = { bytes: 7, entries: 3 };
      const saveLimited = (...entries: ContainerEntry[]) => save(entries, [], other.containers, limits);
      expect(await saveLimited(createEntry('c'))).toEqual({ refusal: 'bytes' });
      expect(await saveLimited(createEntry('b', { bytes: 5 }))).toEqual({ refusal: 'bytes' });
      expect(await saveLimited(createEntry('b', { bytes: 4 }))).toMatchObject({ version: 2 });
      const empty = { bytes: 0, content: null };
      expect(await saveLimited(createEntry('c', empty), createEntry('d', empty))).toEqual({ refusal: 'entries' });
      expect(await save([], ['a'], other.containers, { bytes: 1, entries: 1 })).toMatchObject({ version: 3 });
      await storage.containers.releaseLease(lease.token, now);
      expect(await save([createEntry('e')])).toEqual({ refusal: 'lease' });
      await storage.containers.deleteContainer(key);
      expect(await save([createEntry('e')])).toEqual({ refusal: 'gone' });
    });

    it('count the bytes and the entries of their files, also if two processes save at once', async () => {
      const { storage, other } = pair();
      const workspaceId = await addWorkspace();
      const { key } = await useNew(workspaceId, 'c');
      const leases = ['bash', 'shell'].map((compute) => createLease(key, { compute }));
      for (const lease of leases) await storage.containers.acquireLease(lease);
      await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          (index % 2 === 0 ? storage : other).containers.saveEntries({
            containerKey: key,
            token: leases[index % 2]!.token,
            deleted: [],
            atMs: now,
            limits: noLimits,
            entries: [createEntry(`own ${index}`), createEntry('shared', { bytes: index })],
          }),
        ),
      );
      const found = await storage.containers.findContainer(workspaceId, 'c');
      const shared = await storage.containers.findEntry(key, 'shared');
      expect(found).toMatchObject({ version: 20, entries: 21, bytes: 60 + shared!.bytes });
    });

    it('list files by the bytes of their paths, without hidden ones', async () => {
      const { save, list } = await open();
      const paths = ['a', 'a b', 'a-b', 'a/b', 'a/b/c', 'a0', 'B', 'b', 'é', '\uffee', '\u{1f511}', '\u{10ffff}'];
      const sorted = paths.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      await save([
        ...paths.map((path) => createEntry(path)),
        createEntry('a/folder', { kind: 'folder', bytes: 0, content: null }),
        createEntry('a/link', { kind: 'link', bytes: 0, content: null, target: 'a' }),
        createEntry('removed'),
        { ...createEntry(''), ...lost },
      ]);
      await save([], ['removed']);
      expect(await list()).toEqual({ paths: sorted, next: undefined });
      expect(await list({ limit: sorted.length })).toEqual({ paths: sorted, next: undefined });
      expect(await list({ limit: 3 })).toEqual({ paths: sorted.slice(0, 3), next: toText(sorted[2]!) });
      for (const after of [...sorted, 'a.', 'a/', '~']) {
        const rest = sorted.filter((path) => Buffer.compare(Buffer.from(path), Buffer.from(after)) > 0);
        expect((await list({ after })).paths, after).toEqual(rest);
      }
    });

    it('stop a list after too many hidden entries, at a place where it continues', async () => {
      const { save, list } = await open();
      const hidden = Array.from({ length: 25 }, (_, index) =>
        createEntry(`h${String(index).padStart(2, '0')}`, { kind: 'folder', bytes: 0, content: null }),
      );
      await save([createEntry('a'), ...hidden, createEntry('z')]);
      expect(await list({ maxScanned: 10 })).toEqual({ paths: ['a'], next: 'h08' });
      expect(await list({ maxScanned: 10, after: 'h08' })).toEqual({ paths: [], next: 'h18' });
      expect(await list({ maxScanned: 10, after: 'h18' })).toEqual({ paths: ['z'], next: undefined });
      expect(await list({ limit: 1, maxScanned: 10 })).toEqual({ paths: ['a'], next: 'h08' });
      expect(await list({ after: 'z' })).toEqual({ paths: [], next: undefined });
    });

    it('list every file exactly once while others are saved and deleted', async () => {
      const { list, save } = await open();
      const name = fc.string({ unit: 'binary', minLength: 1, maxLength: 6 }).filter((path) => path.isWellFormed());
      const writes = fc.array(fc.record({ path: name, isDeletion: fc.boolean() }), { maxLength: 5 });
      await fc.assert(
        fc.asyncProperty(
          fc.uniqueArray(name, { minLength: 1, maxLength: 30, selector: toText }),
          fc.array(writes, { minLength: 1, maxLength: 8 }),
          fc.integer({ min: 1, max: 7 }),
          fc.integer({ min: 8, max: 20 }),
          async (names, turns, limit, maxScanned) => {
            const run = randomUUID();
            const stable = names.map((path) => `${run}/s${path}`);
            await save(stable.map((path) => createEntry(path)));
            const found: string[] = [];
            let after: string | undefined = `${run}/`;
            for (let turn = 0; after !== undefined; turn++) {
              const page = await list({ after, limit, maxScanned });
              found.push(...page.paths.filter((path) => path.startsWith(`${run}/`)));
              after = page.next === undefined ? undefined : Buffer.from(page.next, 'latin1').toString();
              for (const { path, isDeletion } of turns[turn] ?? []) {
                const moving = `${run}/m${path}`;
                await (isDeletion ? save([], [moving]) : save([createEntry(moving)]));
              }
            }
            expect(new Set(found).size).toBe(found.length);
            expect(found.filter((path) => path.startsWith(`${run}/s`)).toSorted()).toEqual(stable.toSorted());
          },
        ),
        { numRuns: 12 },
      );
    });

    it('keep paths of the maximum length', async () => {
      const { key, save } = await open();
      const bytes = Buffer.alloc(MAX_SAVED_PATH_BYTES);
      for (let at = 0; at < bytes.length; at++) bytes[at] = 1 + ((at * 7919 + (at >> 3) * 104_729) % 255); // not compressible
      const path = bytes.toString('latin1');
      expect(await save([{ ...createEntry(''), path }])).toMatchObject({ version: 1 });
      expect(await pair().other.containers.findEntry(key, path)).toMatchObject({ path });
    });

    it('tell which objects are used, and change the place of unchanged contents', async () => {
      const { key, save } = await open();
      const { containers } = pair().other;
      const at = (object: string, offset: number) => ({ content: { object, offset } });
      await save([createEntry('b', at('o1', 0)), createEntry('a', at('o1', 3)), createEntry('c', at('o2', 0))]);
      expect((await containers.readObjectUse(key, ['o1', 'o2', 'o3'])).toSorted(byObject)).toEqual([
        { object: 'o1', files: 2, bytes: 6 },
        { object: 'o2', files: 1, bytes: 3 },
      ]);
      expect(await containers.readObjectUse(key, [])).toEqual([]);
      const listAll = async () =>
        (await containers.listContents({ containerKey: key, limit: 9 })).map(({ path, content }) => [path, content]);
      expect(await listAll()).toEqual([
        ['b', { object: 'o1', offset: 0 }],
        ['a', { object: 'o1', offset: 3 }],
        ['c', { object: 'o2', offset: 0 }],
      ]);
      const after = { object: 'o1', offset: 0, path: 'b' };
      const next = await containers.listContents({ containerKey: key, after, limit: 1 });
      expect(next.map(({ path }) => path)).toEqual(['a']);

      await save([createEntry('b', at('o4', 0))]);
      const to = { object: 'o5', offset: 1 };
      await containers.moveContents(key, [
        { path: 'a', from: { object: 'o1', offset: 3 }, to },
        { path: 'b', from: { object: 'o1', offset: 0 }, to },
      ]);
      expect(await listAll()).toEqual([
        ['c', { object: 'o2', offset: 0 }],
        ['b', { object: 'o4', offset: 0 }],
        ['a', to],
      ]);
      expect(await containers.findEntry(key, 'a')).toMatchObject({ version: 1 });
    });

    it('delete the entries of deleted containers, and what is left of deleted entries', async () => {
      const { key, lease, save } = await open();
      const { containers } = pair().storage;
      await save([createEntry('a'), createEntry('b')], ['x', 'y']);
      const count = async () =>
        (await containers.listEntries({ containerKey: key, after: { version: 0 }, limit: 9 })).length;
      await containers.deleteTombstones(now, 1_000_000);
      expect(await count()).toBe(4); // a sandbox may not know of them yet
      for (let left = 1; left > 0; ) left = await containers.deleteTombstones(lease.untilMs, 1);
      expect(await count()).toBe(2);
      for (let left = 1; left > 0; ) left = await containers.deleteOrphans(1000);
      expect(await count()).toBe(2);
      await containers.deleteContainer(key);
      expect(await containers.deleteOrphans(1)).toBe(1);
      expect(await count()).toBe(1);
      expect(await containers.deleteOrphans(9)).toBe(1);
      expect(await containers.deleteOrphans(9)).toBe(0);
      expect(await count()).toBe(0);
    });
  });
}

const byObject = (a: { object: string }, b: { object: string }): number => (a.object < b.object ? -1 : 1);
