import { Readable } from 'node:stream';
import { GatewayError } from '../../domain/errors.ts';
import type { ByteRange, Objects } from '../../platform/objects/objects.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import type { ContainerStore, SavedEntry } from '../../platform/storage/ports/containers.ts';
import { callObjects } from '../files/file-objects.ts';

/** Keys of the contents of containers begin with it. */
export const CONTAINER_OBJECTS = 'containers/';

/** Returns the key of an object of a container. */
export const nameContainerObject = (containerKey: string, object: string): string =>
  `${CONTAINER_OBJECTS}${containerKey}/${object}`;

/** The dependencies of functions that read contents of containers. */
export interface EntryContentParts {
  store: Pick<ContainerStore, 'findEntry'>;
  objects: Pick<Objects, 'open'>;
}

/** Attempts to read a file that is saved again at the same time. */
const MAX_TRIES = 5;

/**
 * Opens the content of a saved file. If the file was saved again since then, opens its new content, because the objects
 * of the old one may be removed already.
 *
 * @param range within the file
 * @returns the entry whose content it is; undefined if the file was deleted
 * @throws {GatewayError} `unavailable` if this host does not have the content
 */
export async function openEntryContent(
  { store, objects }: EntryContentParts,
  containerKey: string,
  entry: SavedEntry,
  range: ByteRange = { start: 0 },
): Promise<{ entry: SavedEntry; content: Readable } | undefined> {
  let current: SavedEntry | undefined = entry;
  for (let tries = 1; current; tries++) {
    const { content: place, bytes } = current;
    const [start, end] = [Math.min(range.start, bytes), Math.min(range.end ?? bytes, bytes)];
    if (!place || start >= end) return { entry: current, content: Readable.from([]) };
    const key = nameContainerObject(containerKey, place.object);
    const part = { start: place.offset + start, end: place.offset + end };
    const found = await callObjects(() => objects.open(key, part));
    if (found) return { entry: current, content: found.content };
    const { path } = current as SavedEntry; // the loop ends without one
    const next: SavedEntry | undefined = await callStore(() => store.findEntry(containerKey, path));
    if (tries === MAX_TRIES || (next?.content && isSamePlace(next.content, place))) {
      throw new GatewayError(
        'unavailable',
        'The content of the file is not in the storage of this host. If several hosts serve, set files.url to an S3 bucket, or to a folder that all of them share.',
      );
    }
    current = next;
  }
  return undefined;
}

const isSamePlace = (a: { object: string; offset: number }, b: { object: string; offset: number }): boolean =>
  a.object === b.object && a.offset === b.offset;
