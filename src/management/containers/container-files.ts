import type { Readable } from 'node:stream';
import { GatewayError, invalidRequest } from '../../domain/errors.ts';
import type { ByteRange } from '../../platform/objects/objects.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import type {
  ByteText,
  ContainerStore,
  ListedContainerFile,
  SavedEntry,
} from '../../platform/storage/ports/containers.ts';
import type { FileRecord } from '../../platform/storage/ports/files.ts';
import { createFile } from '../files/create-file.ts';
import type { FileParts } from '../files/parts.ts';
import type { Actor } from '../parts.ts';
import { decodePath, isVisiblePath, readContainerFileId, writeContainerFileId } from './container-file-id.ts';
import { type ContainerPlace, findContainerAt } from './container-place.ts';
import { openEntryContent } from './entry-content.ts';

/** The dependencies of the use cases of container files. */
export interface ContainerFileParts {
  containers: ContainerStore;
  /** The files of the workspace, for copies of promoted files. */
  files: FileParts;
}

/** Maximum entries that one request reads, with hidden ones. */ // choice 505
const MAX_SCANNED = 10_000;

export interface ContainerFileList {
  files: ListedContainerFile[];
  /** The list continues after this id, which can be that of a hidden entry. Null: the list is complete. */
  nextId: string | null;
}

/**
 * Lists files by the bytes of their paths. A container that does not exist has none.
 *
 * @param after an id of a file
 * @throws {GatewayError} `invalid_request`
 */
export async function listContainerFiles(
  { containers }: Pick<ContainerFileParts, 'containers'>,
  place: ContainerPlace,
  { after, limit }: { after: string | undefined; limit: number },
): Promise<ContainerFileList> {
  const path = after === undefined ? undefined : parseId(after, 'after');
  return callStore(async () => {
    const container = await findContainerAt(containers, place);
    if (!container) return { files: [], nextId: null };
    const query = { containerKey: container.key, after: path, limit, maxScanned: MAX_SCANNED };
    const { files, next } = await containers.listFiles(query);
    return { files, nextId: next === undefined ? null : writeContainerFileId(next) };
  });
}

/** A file of a container. */
export interface FoundContainerFile {
  containerKey: string;
  entry: SavedEntry;
}

/** @throws {GatewayError} `invalid_request` for a malformed id; `not_found` */
export async function getContainerFile(
  { containers }: Pick<ContainerFileParts, 'containers'>,
  place: ContainerPlace,
  fileId: string,
): Promise<FoundContainerFile> {
  const path = parseId(fileId, 'file_id');
  const found = isVisiblePath(path) ? await callStore(() => findFile(containers, place, path)) : undefined;
  return found ?? rejectUnknown(place.containerId, path);
}

async function findFile(
  containers: ContainerStore,
  place: ContainerPlace,
  path: ByteText,
): Promise<FoundContainerFile | undefined> {
  const container = await findContainerAt(containers, place);
  const entry = container && (await containers.findEntry(container.key, path));
  return entry?.kind === 'file' ? { containerKey: container!.key, entry } : undefined;
}

/**
 * Opens the content of a file.
 *
 * @param range within the file
 * @returns the file whose content it is: it can have been saved again since it was found
 * @throws {GatewayError} `not_found` if it was deleted since then; `unavailable`
 */
export async function openContainerFile(
  { containers, files }: ContainerFileParts,
  containerId: string,
  { containerKey, entry }: FoundContainerFile,
  range?: ByteRange,
): Promise<{ entry: SavedEntry; content: Readable }> {
  const opened = await openEntryContent({ store: containers, objects: files.objects }, containerKey, entry, range);
  return opened ?? rejectUnknown(containerId, entry.path);
}

/** Copies a file of a container to the files of the workspace. @throws {GatewayError} */
export async function promoteContainerFile(
  parts: ContainerFileParts,
  actor: Actor,
  place: ContainerPlace,
  fileId: string,
): Promise<FileRecord> {
  const found = await getContainerFile(parts, place, fileId);
  const { maxBytes } = parts.files.limits();
  if (found.entry.bytes > maxBytes) {
    throw new GatewayError('payload_too_large', `The file is larger than ${maxBytes} bytes (files.max_bytes).`);
  }
  const { entry, content } = await openContainerFile(parts, place.containerId, found);
  try {
    return await createFile(parts.files, actor, {
      workspaceId: place.workspaceId,
      filename: decodePath(entry.path),
      downloadable: true,
      content,
      acceptsAny: true,
    });
  } finally {
    content.destroy();
  }
}

/** @param name of the parameter @throws {GatewayError} `invalid_request` */
function parseId(id: string, name: string): ByteText {
  const path = readContainerFileId(id);
  if (path !== undefined) return path;
  const message = `${JSON.stringify(id.slice(0, 100))} is not the id of a container file: cfile_ and base64url.`;
  throw invalidRequest([{ path: name, message }]);
}

function rejectUnknown(containerId: string, path: ByteText): never {
  const name = JSON.stringify(decodePath(path).slice(0, 200));
  throw new GatewayError('not_found', `The container ${containerId} has no file ${name}.`);
}
