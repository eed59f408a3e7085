import { setImmediate as nextTurn } from 'node:timers/promises';
import { createTimedId } from '../../domain/ids.ts';
import type { Objects, StoredObject } from '../../platform/objects/objects.ts';
import type { ContainerStore, MovedContent, ObjectUse, SavedEntry } from '../../platform/storage/ports/containers.ts';
import { CONTAINER_OBJECTS, nameContainerObject, openEntryContent } from './entry-content.ts';

export interface SweepContainersParts {
  store: ContainerStore;
  objects: Objects;
  /** Time after its last use after which a container is deleted. */
  retentionMs: () => number;
  now: () => number;
}

/** Age after which an object without a row belongs to no save in progress: the rows follow the object within minutes. */
const ORPHAN_MS = 3_600_000;
const PAGE = 500;
/** Smaller objects are not worth a copy. */
const MIN_REWRITTEN_BYTES = 1024 * 1024;
/** An object is copied if less than this part of it is used. */
const MIN_USED_SHARE = 0.25;

/**
 * Deletes containers that have not been used for long, and what deleted containers and files have left. Several processes
 * may do so concurrently, also while containers run.
 *
 * @returns the number of containers and of objects removed
 */
export async function sweepContainers(
  parts: SweepContainersParts,
  signal?: AbortSignal,
): Promise<{ containers: number; objects: number }> {
  const { store, retentionMs, now } = parts;
  let containers = 0;
  for (let found = PAGE; found === PAGE && !signal?.aborted; ) {
    const beforeMs = now() - retentionMs();
    const rule = { beforeMs, nowMs: now() };
    const unused = await store.listUnusedContainers({ ...rule, limit: PAGE });
    found = unused.length;
    for (const { key } of unused) if (await store.deleteContainer(key, rule)) containers++;
  }
  for (let deleted = PAGE; deleted === PAGE && !signal?.aborted; await nextTurn()) {
    deleted = await store.deleteOrphans(PAGE);
  }
  for (let deleted = PAGE; deleted === PAGE && !signal?.aborted; await nextTurn()) {
    deleted = await store.deleteTombstones(now(), PAGE);
  }
  return { containers, objects: await sweepObjects(parts, CONTAINER_OBJECTS, ORPHAN_MS, signal) };
}

/** Deletes a container with its files. Its process stops the running commands, which can no longer save files. */
export async function deleteContainer(
  parts: Pick<SweepContainersParts, 'store' | 'objects' | 'now'>,
  key: string,
): Promise<void> {
  const { store } = parts;
  await store.deleteContainer(key);
  while ((await store.deleteOrphans(PAGE)) === PAGE) await nextTurn();
  await sweepObjects(parts, nameContainerObject(key, ''), 0);
}

/** Removes objects without a row, and copies the rest of those that are mostly unused. */
async function sweepObjects(
  parts: Pick<SweepContainersParts, 'store' | 'objects' | 'now'>,
  prefix: string,
  minAgeMs: number,
  signal?: AbortSignal,
): Promise<number> {
  const { store, objects, now } = parts;
  let removed = 0;
  for (let after: string | undefined; !signal?.aborted; ) {
    const page = await objects.list({ prefix, limit: PAGE, ...(after !== undefined && { after }) });
    if (page.length === 0) break;
    after = page.at(-1)!.key;
    const old = page.filter(({ modifiedAtMs }) => now() - modifiedAtMs >= minAgeMs);
    for (const [containerKey, own] of Map.groupBy(old, readContainerKey)) {
      const names = own.map(readObjectName);
      const uses = new Map((await store.readObjectUse(containerKey, names)).map((use) => [use.object, use]));
      const exists = (await store.listExistingContainers([containerKey])).length > 0;
      for (const object of own) {
        const use = uses.get(readObjectName(object));
        if (use && exists) {
          if (isMostlyUnused(object, use)) await rewrite(parts, containerKey, use.object);
          continue;
        }
        await objects.remove(object.key);
        removed++;
      }
    }
  }
  return removed;
}

const isMostlyUnused = ({ bytes }: StoredObject, use: ObjectUse): boolean =>
  bytes >= MIN_REWRITTEN_BYTES && use.bytes < bytes * MIN_USED_SHARE;

/** Copies what is used of an object to a new one, and removes the object unless something of it is still used. */
async function rewrite(
  parts: Pick<SweepContainersParts, 'store' | 'objects'>,
  containerKey: string,
  object: string,
): Promise<void> {
  const { store, objects } = parts;
  const entries: SavedEntry[] = [];
  for (let after = { object, offset: -1, path: '' }; ; ) {
    const page = await store.listContents({ containerKey, after, limit: PAGE });
    entries.push(...page.filter((entry) => entry.content!.object === object));
    const last = page.at(-1);
    if (last?.content?.object !== object) break;
    after = { ...last.content, path: last.path };
  }
  const copy = createTimedId('');
  const moves: MovedContent[] = [];
  let offset = 0;
  const read = async function* (): AsyncGenerator<Uint8Array> {
    for (const entry of entries) {
      const found = await openEntryContent(parts, containerKey, entry);
      if (found?.entry.content?.object !== object) {
        found?.content.destroy(); // saved again since then
        continue;
      }
      moves.push({ path: entry.path, from: entry.content!, to: { object: copy, offset } });
      for await (const piece of found.content) {
        offset += (piece as Uint8Array).length;
        yield piece as Uint8Array;
      }
    }
  };
  await objects.put(nameContainerObject(containerKey, copy), read());
  await store.moveContents(containerKey, moves);
  for (const each of [object, copy]) {
    const [use] = await store.readObjectUse(containerKey, [each]);
    if (!use) await objects.remove(nameContainerObject(containerKey, each));
  }
}

const readContainerKey = ({ key }: StoredObject): string => key.split('/')[1] ?? '';
const readObjectName = ({ key }: StoredObject): string => key.slice(key.lastIndexOf('/') + 1);
