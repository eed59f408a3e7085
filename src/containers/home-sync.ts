import { buffer } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createTimedId } from '../domain/ids.ts';
import { nameContainerObject } from '../management/containers/entry-content.ts';
import { callObjects } from '../management/files/file-objects.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { EntryToWrite, Sandbox, SandboxEntry } from '../platform/sandbox/sandbox.ts';
import { MAX_PATH_LEVELS } from '../platform/sandbox/split-entry-path.ts';
import { callStore } from '../platform/storage/call-store.ts';
import {
  MAX_SAVED_PATH_BYTES,
  type ByteText,
  type ContainerEntry,
  type ContainerLimits,
  type ContainerStore,
  type SavedEntry,
  type SaveRefusal,
} from '../platform/storage/ports/containers.ts';
import { mapInOrder } from './map-in-order.ts';
import { readContents } from './read-contents.ts';
import { takeBytes } from './take-bytes.ts';

export interface HomeSyncParts {
  store: ContainerStore;
  objects: Objects;
  sandbox: Pick<Sandbox, 'listFiles' | 'read' | 'write' | 'remove'>;
  containerKey: string;
  /** The lease of the sandbox. */
  token: string;
  limits: () => ContainerLimits;
  now: () => number;
}

/** A save that the store refused. */
export class SaveRefusedError extends Error {
  override readonly name = 'SaveRefusedError';
  readonly refusal: SaveRefusal;
  constructor(refusal: SaveRefusal) {
    super(`The save was refused: ${refusal}.`);
    this.refusal = refusal;
  }
}

/** A path that cannot be saved. All others are. */
export class PathTooLongError extends Error {
  override readonly name = 'PathTooLongError';
  constructor(path: ByteText) {
    const shown = JSON.stringify(Buffer.from(path.slice(0, SHOWN_PATH_BYTES), 'latin1').toString());
    super(
      `The path ${shown}… is longer than ${MAX_SAVED_PATH_BYTES} bytes or ${MAX_PATH_LEVELS} levels and is not saved. Everything else is saved. Rename the file or delete it.`,
    );
  }
}

/** The outcome of a save. */
export interface HomeSave {
  /** The changed files, the most recently changed first. */
  changed: SandboxEntry[];
  /** Names one of the paths that are too long to be saved. Absent: everything is saved. */
  tooLong?: PathTooLongError;
}

/** Bytes of a path that a message shows. */
const SHOWN_PATH_BYTES = 300;

/** The saved state of an entry. */
interface Known {
  stamp: string;
  bytes: number;
}

/** Smaller files are packed: several in one object. */
const PACKED_BYTES = 1024 * 1024;
/** Size of a pack after which the next one begins. */
const PACK_BYTES = 8 * 1024 * 1024;
/** Entries of one transaction. */
const SAVE_ENTRIES = 500;
const PAGE = 1000;
/** Small files that are read at once. */
const PARALLEL_READS = 8;
/** Entries that are compared between two pauses. */
const COMPARED_PER_TURN = 2000;

/** Keeps the home folder of one sandbox and the saved files of its container the same. The last write wins. */
export class HomeSync {
  private readonly parts: HomeSyncParts;
  /** The entries of the home folder as they are saved. */
  private readonly known = new Map<ByteText, Known>();
  /** Saves up to this version are in the home folder. */
  private seen = 0;
  /** Later versions that this sandbox saved. */
  private readonly own = new Set<number>();
  /** The last save or pull: one at a time. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(parts: HomeSyncParts) {
    this.parts = parts;
  }

  /** Whether a path is saved, or is in the home folder since the last save. */
  has(path: ByteText): boolean {
    return this.known.has(path);
  }

  /** Writes all saved files to the home folder, which is empty. @param version of the container, read before */
  async restore(version: number): Promise<void> {
    this.seen = version;
    if (version === 0) return;
    await this.parts.sandbox.write(this.listSaved(this.parts.containerKey));
    for await (const batch of this.parts.sandbox.listFiles()) {
      for (const { path, stamp, bytes } of batch) this.known.set(path.toString('latin1'), { stamp, bytes });
      await nextTurn();
    }
  }

  /** Copies the saved files of another container to the home folder, which is empty, and saves them. */
  async adopt(containerKey: string): Promise<void> {
    await this.parts.sandbox.write(this.listSaved(containerKey));
    await this.save();
  }

  /** Writes what other sandboxes of the container have saved to the home folder. */
  pull(): Promise<void> {
    return this.inTurn(() => this.pullNow());
  }

  /** Saves what has changed in the home folder. */
  save(): Promise<HomeSave> {
    return this.inTurn(() => this.saveNow());
  }

  private inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.last.then(work);
    this.last = turn.catch(() => {});
    return turn;
  }

  /** Yields folders, then files in the order of their contents, then the rest. */
  private async *listSaved(containerKey: string): AsyncGenerator<EntryToWrite> {
    const { store, objects } = this.parts;
    const others: SavedEntry[] = [];
    for await (const page of this.listSince(containerKey, 0)) {
      others.push(...page.filter(({ isDeleted, content }) => !isDeleted && !content));
    }
    const folders = others.filter(({ kind }) => kind === 'folder').sort(byPath);
    for (const folder of folders) yield toWrite({ ...folder, mode: folder.mode | 0o700 });
    for (let after: SavedEntry | undefined; ; ) {
      const place = after && { ...after.content!, path: after.path };
      const page = await callStore(() => store.listContents({ containerKey, after: place, limit: PAGE }));
      if (page.length === 0) break;
      yield* readContents({ store, objects, containerKey }, page);
      after = page.at(-1);
    }
    for (const entry of others) if (entry.kind !== 'folder') yield toWrite(entry);
    // Folders that their owner cannot write come last, when they are complete.
    for (const folder of folders.reverse()) if ((folder.mode & 0o700) !== 0o700) yield toWrite(folder);
  }

  private async *listSince(containerKey: string, version: number): AsyncGenerator<SavedEntry[]> {
    const { store } = this.parts;
    for (let after: { version: number; path?: ByteText } = { version }; ; ) {
      const page = await callStore(() => store.listEntries({ containerKey, after, limit: PAGE }));
      const last = page.at(-1);
      if (!last) return;
      yield page;
      after = { version: last.version, path: last.path };
      await nextTurn();
    }
  }

  private async pullNow(): Promise<void> {
    const { sandbox } = this.parts;
    const pulled = new Set<ByteText>();
    let { seen } = this;
    for await (const page of this.listSince(this.parts.containerKey, this.seen)) {
      seen = page.at(-1)!.version;
      const foreign = page.filter(({ version }) => !this.own.has(version));
      const deleted = foreign.filter(({ isDeleted }) => isDeleted).map(({ path }) => path);
      const known = deleted.filter((path) => this.known.has(path));
      // A folder that was deleted elsewhere stays here as long as it has other entries: choice 502.
      const removable = known.length === 0 ? [] : await withoutParents(known, this.known);
      await sandbox.remove(removable.map((path) => Buffer.from(path, 'latin1')));
      for (const path of known) this.known.delete(path);
      const changed = foreign.filter(({ isDeleted }) => !isDeleted).sort(byPath);
      await sandbox.write(this.writeChanged(changed));
      for (const { path } of changed) pulled.add(path);
    }
    if (pulled.size > 0) {
      for await (const batch of sandbox.listFiles()) {
        for (const { path, stamp, bytes } of batch) {
          const text = path.toString('latin1');
          if (pulled.has(text)) this.known.set(text, { stamp, bytes });
        }
        await nextTurn();
      }
    }
    this.seen = seen;
    for (const version of this.own) if (version <= seen) this.own.delete(version);
  }

  private async *writeChanged(changed: readonly SavedEntry[]): AsyncGenerator<EntryToWrite> {
    for (const entry of changed) {
      if (entry.content) yield* readContents(this.parts, [entry]);
      else yield toWrite(entry);
    }
  }

  private async saveNow(): Promise<HomeSave> {
    const { changed, deleted, tooLong } = await this.compare();
    const released = new Set<string>();
    // Deletions come last, so that a renamed file is never lost: choice 501. They make room for what is saved before.
    const room = { bytes: 0, entries: deleted.length };
    for (const path of deleted) room.bytes += this.known.get(path)?.bytes ?? 0;
    let batch: Batch = { entries: [], packed: [], packedBytes: 0 };
    const flush = async (): Promise<void> => {
      const full = batch;
      batch = { entries: [], packed: [], packedBytes: 0 };
      for (const object of await this.saveBatch(full, room)) released.add(object);
      await nextTurn();
    };
    for (const entry of changed) {
      if (entry.kind === 'file' && entry.bytes >= PACKED_BYTES) {
        const saved = await this.putFile(entry);
        if (saved) batch.entries.push(saved);
      } else if (entry.kind === 'file' && entry.bytes > 0) {
        batch.packed.push(entry);
        batch.packedBytes += entry.bytes;
      } else {
        batch.entries.push({ entry, saved: { ...describe(entry), content: null } });
      }
      if (batch.packedBytes >= PACK_BYTES || batch.entries.length + batch.packed.length >= SAVE_ENTRIES) await flush();
    }
    if (batch.entries.length + batch.packed.length > 0) await flush();
    for (let at = 0; at < deleted.length; at += SAVE_ENTRIES) {
      const paths = deleted.slice(at, at + SAVE_ENTRIES);
      for (const object of await this.commit([], paths, room)) released.add(object);
      for (const path of paths) this.known.delete(path);
      await nextTurn();
    }
    await this.removeReleased([...released]);
    const files = changed.filter(({ kind }) => kind === 'file').sort((a, b) => b.modifiedAtMs - a.modifiedAtMs);
    return { changed: files, ...(tooLong !== undefined && { tooLong: new PathTooLongError(tooLong) }) };
  }

  /** Compares the home folder with the saved files. */
  private async compare(): Promise<{ changed: SandboxEntry[]; deleted: ByteText[]; tooLong: ByteText | undefined }> {
    let tooLong: ByteText | undefined;
    const changed: SandboxEntry[] = [];
    const found = new Set<ByteText>();
    let compared = 0;
    for await (const batch of this.parts.sandbox.listFiles()) {
      for (const entry of batch) {
        const path = entry.path.toString('latin1');
        found.add(path);
        if (isTooLong(path)) tooLong = path;
        else if (this.known.get(path)?.stamp !== entry.stamp) changed.push(entry);
        if (++compared % COMPARED_PER_TURN === 0) await nextTurn();
      }
    }
    const deleted: ByteText[] = [];
    for (const path of this.known.keys()) if (!found.has(path)) deleted.push(path);
    return { changed, deleted, tooLong };
  }

  /** Stores the content of a large file as an object. @returns undefined if the file no longer exists */
  private async putFile(entry: SandboxEntry): Promise<BatchEntry | undefined> {
    const { sandbox } = this.parts;
    const content = await sandbox.read(entry.path);
    if (!content) return undefined;
    const object = createTimedId('');
    const bytes = await this.put(object, takeBytes(content, entry.bytes));
    const saved = { ...describe(entry), bytes, content: bytes === 0 ? null : { object, offset: 0 } };
    return { entry, saved };
  }

  /** Stores the contents of small files as one object, then all entries of the batch. @returns released objects */
  private async saveBatch({ entries, packed }: Batch, room: ContainerLimits): Promise<string[]> {
    const { sandbox } = this.parts;
    const object = createTimedId('');
    let offset = 0;
    const pack = async function* (): AsyncGenerator<Uint8Array> {
      const read = (entry: SandboxEntry) => readSmallFile(sandbox, entry);
      for await (const { item: entry, result: content } of mapInOrder(packed, PARALLEL_READS, read)) {
        if (!content) continue; // deleted since it was listed
        const place = content.length === 0 ? null : { object, offset };
        entries.push({ entry, saved: { ...describe(entry), bytes: content.length, content: place } });
        offset += content.length;
        if (content.length > 0) yield content;
      }
    };
    if (packed.length > 0) await this.put(object, pack());
    if (entries.length === 0) return [];
    const released = await this.commit(
      entries.map(({ saved }) => saved),
      [],
      room,
    );
    for (const { entry, saved } of entries) this.known.set(saved.path, { stamp: entry.stamp, bytes: saved.bytes });
    return released;
  }

  /** Stores an object. @throws what `content` throws, unchanged: the sandbox can end while it is read */
  private async put(object: string, content: AsyncIterable<Uint8Array>): Promise<number> {
    const { objects, containerKey } = this.parts;
    let failure: { error: unknown } | undefined;
    const pass = async function* (): AsyncGenerator<Uint8Array> {
      try {
        yield* content;
      } catch (error) {
        failure = { error };
        throw error;
      }
    };
    try {
      return await callObjects(() => objects.put(nameContainerObject(containerKey, object), pass()));
    } catch (error) {
      throw failure ? failure.error : error;
    }
  }

  private async commit(
    entries: readonly ContainerEntry[],
    deleted: readonly ByteText[],
    room: ContainerLimits,
  ): Promise<string[]> {
    const { store, containerKey, token, limits, now } = this.parts;
    const { bytes, entries: maxEntries } = limits();
    const result = await callStore(() =>
      store.saveEntries({
        containerKey,
        token,
        entries,
        deleted,
        atMs: now(),
        limits: { bytes: bytes + room.bytes, entries: maxEntries + room.entries },
      }),
    );
    if (result.refusal !== undefined) throw new SaveRefusedError(result.refusal);
    // Its own saves are in its home folder, so it does not read them again.
    if (result.version === this.seen + 1) this.seen++;
    else this.own.add(result.version);
    return result.released;
  }

  /** Removes objects that no file needs. If it fails, the next sweep removes them. */
  private async removeReleased(released: string[]): Promise<void> {
    const { store, objects, containerKey } = this.parts;
    try {
      for (let at = 0; at < released.length; at += SAVE_ENTRIES) {
        const part = released.slice(at, at + SAVE_ENTRIES);
        const used = new Set((await store.readObjectUse(containerKey, part)).map(({ object }) => object));
        for (const object of part) {
          if (!used.has(object)) await objects.remove(nameContainerObject(containerKey, object));
        }
      }
    } catch {
      // the files are saved
    }
  }
}

interface BatchEntry {
  entry: SandboxEntry;
  saved: ContainerEntry;
}

interface Batch {
  entries: BatchEntry[];
  /** Small files whose content is not stored yet. */
  packed: SandboxEntry[];
  packedBytes: number;
}

/** Whether a path is too long to be saved: choice 509. */
export const isTooLong = (path: ByteText): boolean =>
  path.length > MAX_SAVED_PATH_BYTES || (path.length > 2 * MAX_PATH_LEVELS && path.split('/').length > MAX_PATH_LEVELS);

const describe = (entry: SandboxEntry): Omit<ContainerEntry, 'content'> => ({
  path: entry.path.toString('latin1'),
  kind: entry.kind,
  bytes: entry.kind === 'file' ? entry.bytes : 0,
  mode: entry.mode,
  modifiedAtMs: entry.modifiedAtMs,
  target: entry.target?.toString('latin1') ?? null,
});

const toWrite = ({ path, kind, mode, modifiedAtMs, target }: SavedEntry): EntryToWrite => ({
  path: Buffer.from(path, 'latin1'),
  kind,
  mode,
  modifiedAtMs,
  ...(target !== null && { target: Buffer.from(target, 'latin1') }),
});

const byPath = (a: { path: ByteText }, b: { path: ByteText }): number => (a.path < b.path ? -1 : 1);

/** Returns the paths except folders that have known entries besides them. */
async function withoutParents(paths: readonly ByteText[], known: ReadonlyMap<ByteText, unknown>): Promise<ByteText[]> {
  const removed = new Set(paths);
  const parents = new Set<ByteText>();
  let compared = 0;
  for (const path of known.keys()) {
    if (++compared % COMPARED_PER_TURN === 0) await nextTurn();
    if (removed.has(path)) continue;
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
      const parent = path.slice(0, at);
      if (parents.has(parent)) break; // and so are those above
      parents.add(parent);
    }
  }
  return paths.filter((path) => !parents.has(path));
}

/** @returns undefined if the file no longer exists */
async function readSmallFile(
  sandbox: Pick<Sandbox, 'read'>,
  { path, bytes }: SandboxEntry,
): Promise<Buffer | undefined> {
  const content = await sandbox.read(path);
  return content && buffer(takeBytes(content, bytes));
}
