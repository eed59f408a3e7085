import { randomUUID } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { checkObjectKey, type ObjectQuery, type Objects, type StoredObject } from '../objects.ts';
import { readTreeEntry, type TreeEntry, writeObjectPath } from './object-path.ts';

/** Attempts of a write whose folder another process removes at the same time because it has become empty. */
const MAX_TRIES = 5;

/**
 * Stores objects as files of a folder, which several processes and hosts can share.
 *
 * `put` writes to a file in `incoming/`, syncs it, and renames it into `objects/`. A process that is killed leaves at
 * most a file in `incoming/`.
 *
 * @param folder created with the first object, for the owner only
 */
export function openDiskObjects(folder: string): Objects {
  const [root, incoming] = [join(folder, 'objects'), join(folder, 'incoming')];
  const locate = (key: string): string => {
    checkObjectKey(key);
    return join(root, ...writeObjectPath(key));
  };

  return {
    async put(key, content) {
      const path = locate(key);
      await mkdir(incoming, { recursive: true, mode: 0o700 });
      const draft = join(incoming, randomUUID());
      try {
        const bytes = await writeDraft(draft, content);
        await move(draft, path, root);
        return bytes;
      } catch (error) {
        await rm(draft, { force: true });
        throw error;
      }
    },

    async open(key, { start = 0, end = Number.POSITIVE_INFINITY } = { start: 0 }) {
      const file = await unlessMissing(open(locate(key), 'r'));
      if (!file) return undefined;
      try {
        const { size, mtimeMs } = await file.stat();
        const found = { key, bytes: size, modifiedAtMs: mtimeMs };
        const last = Math.min(end, size) - 1;
        if (start <= last) return { ...found, content: file.createReadStream({ start, end: last }) };
        await file.close();
        return { ...found, content: Readable.from([]) };
      } catch (error) {
        await file.close();
        throw error;
      }
    },

    async remove(key) {
      const path = locate(key);
      await rm(path, { force: true });
      await removeEmptyFolders(dirname(path), root);
    },

    async list(query) {
      const found: StoredObject[] = [];
      if (query.limit > 0) await walk(root, '', { ...query, found });
      return found;
    },

    async removeLeftovers(idleMs) {
      for (const name of (await unlessMissing(readdir(incoming))) ?? []) {
        const path = join(incoming, name);
        const found = await unlessMissing(stat(path));
        if (found && Date.now() - found.mtimeMs >= idleMs) await rm(path, { force: true });
      }
    },
  };
}

async function writeDraft(draft: string, content: AsyncIterable<Uint8Array>): Promise<number> {
  await using file = await open(draft, 'wx', 0o600);
  let bytes = 0;
  for await (const piece of content) {
    await writeAll(file, piece);
    bytes += piece.length;
  }
  await file.sync();
  return bytes;
}

async function writeAll(file: FileHandle, piece: Uint8Array): Promise<void> {
  for (let at = 0; at < piece.length; ) {
    const { bytesWritten } = await file.write(piece, at);
    at += bytesWritten;
  }
}

async function move(draft: string, path: string, root: string): Promise<void> {
  const folder = dirname(path);
  for (let tries = 1; ; tries++) {
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await rename(draft, path);
      break;
    } catch (error) {
      if (!isMissing(error) || tries === MAX_TRIES) throw error;
    }
  }
  // The new name is durable when each folder that may be new is.
  for (let each = folder; ; each = dirname(each)) {
    await syncFolder(each);
    if (each === root) break;
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await unlessMissing(open(path, 'r'));
  if (!folder) return;
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function removeEmptyFolders(from: string, root: string): Promise<void> {
  for (let folder = from; folder !== root; folder = dirname(folder)) {
    try {
      await rmdir(folder);
    } catch (error) {
      if (isMissing(error)) continue;
      return; // not empty
    }
  }
}

interface Walk extends ObjectQuery {
  found: StoredObject[];
}

/** Adds the objects of a folder in the order of their keys. Skips folders that cannot contain one. */
async function walk(folder: string, above: string, query: Walk): Promise<void> {
  const { prefix, after, limit, found } = query;
  for (const { name, part, isFolder } of await readFolder(folder)) {
    const key = above + part;
    if (isFolder) {
      if (!prefix.startsWith(key) && !key.startsWith(prefix)) continue;
      // Keys below `a/` are after `a/`, so all of them are before a key that is after it and does not begin with it.
      if (after !== undefined && compareBytes(key, after) < 0 && !after.startsWith(key)) continue;
      await walk(join(folder, name), key, query);
    } else if (key.startsWith(prefix) && (after === undefined || compareBytes(key, after) > 0)) {
      const state = await unlessMissing(stat(join(folder, name)));
      if (state) found.push({ key, bytes: state.size, modifiedAtMs: state.mtimeMs });
    }
    if (found.length >= limit) return;
  }
}

async function readFolder(folder: string): Promise<TreeEntry[]> {
  const entries: Dirent[] = (await unlessMissing(readdir(folder, { withFileTypes: true }))) ?? [];
  return entries
    .flatMap((entry) => readTreeEntry(entry.name, entry.isDirectory()) ?? [])
    .sort((a, b) => compareBytes(a.part, b.part));
}

const compareBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

async function unlessMissing<Found>(found: Promise<Found>): Promise<Found | undefined> {
  try {
    return await found;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
