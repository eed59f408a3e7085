import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTimedId } from '../../domain/ids.ts';
import { openDiskObjects } from '../../platform/objects/disk/disk-objects.ts';
import type { Objects } from '../../platform/objects/objects.ts';
import type { ContainerEntry } from '../../platform/storage/ports/containers.ts';
import { openSqliteStorage } from '../../platform/storage/sqlite/open.ts';
import type { Storage } from '../../platform/storage/storage.ts';
import { nameContainerObject, openEntryContent } from './entry-content.ts';
import { deleteContainer, sweepContainers } from './sweep-containers.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-sweep-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const hour = 3_600_000;
const day = 24 * hour;
const noLimits = { bytes: Number.MAX_SAFE_INTEGER, entries: Number.MAX_SAFE_INTEGER };

let storage: Storage;
let objects: Objects;
beforeEach(async () => {
  storage = await openSqliteStorage(':memory:');
  await storage.migrate();
  await storage.access.putWorkspace({ id: 'w1', name: 'w1', createdAtMs: 1 });
  objects = openDiskObjects(join(folder, createTimedId('')));
});
afterEach(() => storage.close());

async function* one(content: Buffer): AsyncGenerator<Buffer> {
  yield content;
}

/** A container with a lease, into which files are saved. */
async function openContainer(id: string, usedAtMs = Date.now()) {
  const { containers: store } = storage;
  const { key } = (await store.useContainer('w1', id, createTimedId(''), usedAtMs))!;
  const token = createTimedId('');
  const times = { startedAtMs: usedAtMs, untilMs: usedAtMs + 1000 };
  await store.acquireLease({
    token,
    containerKey: key,
    compute: 'bash',
    holder: 'h',
    policy: '',
    maxHeld: 99,
    ...times,
  });
  const commit = (entries: ContainerEntry[], deleted: string[] = []) =>
    store.saveEntries({ containerKey: key, token, entries, deleted, atMs: usedAtMs, limits: noLimits });
  return {
    key,
    commit,
    /** Saves files as one object. @returns its name */
    async save(files: Record<string, Buffer>): Promise<string> {
      const object = createTimedId('');
      let offset = 0;
      const entries = Object.entries(files).map(([path, content]): ContainerEntry => {
        offset += content.length;
        const place = { object, offset: offset - content.length };
        const times = { mode: 0o644, modifiedAtMs: usedAtMs };
        return { path, kind: 'file', bytes: content.length, target: null, content: place, ...times };
      });
      await objects.put(nameContainerObject(key, object), one(Buffer.concat(Object.values(files))));
      await commit(entries);
      return object;
    },
    async read(path: string): Promise<string | undefined> {
      const entry = await store.findEntry(key, path);
      const opened = entry && (await openEntryContent({ store, objects }, key, entry));
      return opened && (await buffer(opened.content)).toString();
    },
    list: async () => (await objects.list({ prefix: nameContainerObject(key, ''), limit: 99 })).map((each) => each.key),
  };
}

/** Sweeps as if it were this much later. */
const sweep = (laterMs: number) =>
  sweepContainers({
    store: storage.containers,
    objects,
    retentionMs: () => 30 * day,
    now: () => Date.now() + laterMs,
  });

describe('the sweep of containers', () => {
  it('deletes containers that are not used for long, with all of their files', async () => {
    const used = await openContainer('used');
    await used.save({ a: Buffer.from('used') });
    const old = await openContainer('old', Date.now() - 29 * day);
    await old.save({ a: Buffer.from('old') });
    expect(await sweep(hour - 1000)).toEqual({ containers: 0, objects: 0 });
    expect(await sweep(day + hour)).toEqual({ containers: 1, objects: 1 });
    expect(await old.list()).toEqual([]);
    expect(await storage.containers.listEntries({ containerKey: old.key, after: { version: 0 }, limit: 9 })).toEqual(
      [],
    );
    expect(await used.read('a')).toBe('used');
  });

  it('removes objects without a row after an hour, because a save may be in progress', async () => {
    const container = await openContainer('c');
    await objects.put(nameContainerObject(container.key, 'lost'), one(Buffer.from('lost')));
    await objects.put(nameContainerObject('none', 'lost'), one(Buffer.from('lost')));
    expect(await sweep(hour - 1000)).toMatchObject({ objects: 0 });
    expect(await sweep(hour + 1000)).toMatchObject({ objects: 2 });
  });

  it('deletes what deleted files have left, once no sandbox runs', async () => {
    const container = await openContainer('c');
    await container.save({ a: Buffer.from('1'), b: Buffer.from('2') });
    await container.commit([], ['a']);
    const count = async () =>
      (await storage.containers.listEntries({ containerKey: container.key, after: { version: 0 }, limit: 9 })).length;
    await sweep(0);
    expect(await count()).toBe(2);
    await sweep(2000);
    expect(await count()).toBe(1);
    expect(await container.read('b')).toBe('2');
  });

  it('copies the rest of an object that is mostly unused', async () => {
    const container = await openContainer('c');
    const files = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [`f${index}`, Buffer.alloc(100_000, String(index % 10))]),
    );
    const object = await container.save(files);
    const names = Object.keys(files);
    await container.commit([], names.slice(0, 10));
    await sweep(hour + 1000);
    expect(await container.list()).toEqual([nameContainerObject(container.key, object)]); // half of it is used

    await container.commit([], names.slice(10, 17));
    await sweep(hour + 1000);
    const [copy, ...others] = await container.list();
    expect(others).toEqual([]);
    expect(copy).not.toContain(object);
    expect((await objects.list({ prefix: copy!, limit: 1 }))[0]?.bytes).toBe(300_000);
    for (const name of names.slice(17)) expect(await container.read(name)).toBe(files[name]!.toString());
    expect(await storage.containers.findEntry(container.key, 'f17')).toMatchObject({ version: 1 }); // nothing changed
  });

  it('keeps a file that is saved while its object is copied', async () => {
    const container = await openContainer('c');
    await container.save({ large: Buffer.alloc(2_000_000), a: Buffer.from('old a'), b: Buffer.from('b') });
    await container.commit([], ['large']);
    const { store } = { store: storage.containers };
    const changing = {
      ...store,
      moveContents: async (...moves: Parameters<typeof store.moveContents>) => {
        await container.save({ a: Buffer.from('new a') });
        await store.moveContents(...moves);
      },
    };
    const now = () => Date.now() + hour + 1000;
    await sweepContainers({ store: changing, objects, retentionMs: () => day, now });
    expect(await container.read('a')).toBe('new a');
    expect(await container.read('b')).toBe('b');
    await sweep(hour + 1000);
    expect(await container.read('a')).toBe('new a');
    expect(await container.read('b')).toBe('b');
    expect(await container.list()).toHaveLength(2);
  });

  it('reads a file whose object was copied since its row was read', async () => {
    const container = await openContainer('c');
    await container.save({ large: Buffer.alloc(2_000_000), a: Buffer.from('text') });
    await container.commit([], ['large']);
    const parts = { store: storage.containers, objects };
    const entry = (await storage.containers.findEntry(container.key, 'a'))!;
    await sweep(hour + 1000);
    const opened = await openEntryContent(parts, container.key, entry, { start: 1, end: 3 });
    expect((await buffer(opened!.content)).toString()).toBe('ex');
    await container.commit([], ['a']);
    await sweep(hour + 1000);
    expect(await openEntryContent(parts, container.key, entry)).toBeUndefined();
  });

  it('deletes one container at once', async () => {
    const [gone, kept] = [await openContainer('gone'), await openContainer('kept')];
    for (const each of [gone, kept]) await each.save({ a: Buffer.from('1') });
    await deleteContainer({ store: storage.containers, objects, now: Date.now }, gone.key);
    expect(await gone.list()).toEqual([]);
    expect(await gone.commit([])).toEqual({ refusal: 'gone' });
    expect(await kept.read('a')).toBe('1');
  });
});
