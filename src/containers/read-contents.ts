import { buffer } from 'node:stream/consumers';
import {
  type EntryContentParts,
  nameContainerObject,
  openEntryContent,
} from '../management/containers/entry-content.ts';
import { callObjects } from '../management/files/file-objects.ts';
import type { EntryToWrite } from '../platform/sandbox/sandbox.ts';
import type { SavedEntry } from '../platform/storage/ports/containers.ts';

/** Part of an object that is read at once, for several small files. */
const WINDOW_BYTES = 4 * 1024 * 1024;

/**
 * Yields saved files to write to a home folder. Reads small files that are near one another in an object at once.
 *
 * @param entries files with content, by object and offset
 */
export async function* readContents(
  parts: EntryContentParts & { containerKey: string },
  entries: readonly SavedEntry[],
): AsyncGenerator<EntryToWrite> {
  const { objects, containerKey } = parts;
  let window: { object: string; start: number; bytes: Buffer } | undefined;
  for (const entry of entries) {
    const { object, offset } = entry.content!; // see above
    const end = offset + entry.bytes;
    const isInWindow = (): boolean =>
      window?.object === object && offset >= window.start && end <= window.start + window.bytes.length;
    if (!isInWindow() && entry.bytes <= WINDOW_BYTES / 4) {
      const key = nameContainerObject(containerKey, object);
      const found = await callObjects(() => objects.open(key, { start: offset, end: offset + WINDOW_BYTES }));
      window = found && { object, start: offset, bytes: await callObjects(() => buffer(found.content)) };
    }
    const content = isInWindow()
      ? one(window!.bytes.subarray(offset - window!.start, end - window!.start))
      : read(parts, entry);
    const { path, mode, modifiedAtMs } = entry;
    yield { path: Buffer.from(path, 'latin1'), kind: 'file', mode, modifiedAtMs, content };
  }
}

async function* one(piece: Uint8Array): AsyncGenerator<Uint8Array> {
  yield piece;
}

/** Reads a file. If it was deleted since then, it is empty: the next pull removes it. */
async function* read(
  parts: EntryContentParts & { containerKey: string },
  entry: SavedEntry,
): AsyncGenerator<Uint8Array> {
  const found = await openEntryContent(parts, parts.containerKey, entry);
  if (found) yield* found.content;
}
