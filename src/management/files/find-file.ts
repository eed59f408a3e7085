import { GatewayError } from '../../domain/errors.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import type { FileListQuery, FileRecord, FileStore } from '../../platform/storage/ports/files.ts';
import type { Actor } from '../parts.ts';
import { nameFileObject } from './file-objects.ts';
import type { FileParts } from './parts.ts';

/** @throws {GatewayError} `not_found`, also for a file of another workspace */
export async function getFile(files: FileStore, workspaceId: string, id: string): Promise<FileRecord> {
  return (await callStore(() => files.findFile(workspaceId, id))) ?? rejectUnknownFile(id);
}

/**
 * Deletes a file. Its content is removed afterwards; if that fails, the next sweep removes it.
 *
 * @throws {GatewayError} `not_found`, also for a file of another workspace
 */
export async function deleteFile(
  { files, objects, now }: FileParts,
  actor: Actor,
  workspaceId: string,
  id: string,
): Promise<FileRecord> {
  const change = { atMs: now(), actorKeyHash: actor.keyHash };
  const deleted = (await callStore(() => files.deleteFile(workspaceId, id, change))) ?? rejectUnknownFile(id);
  await objects.remove(nameFileObject(deleted)).catch(() => {});
  return deleted;
}

function rejectUnknownFile(id: string): never {
  throw new GatewayError('not_found', `There is no file ${JSON.stringify(id.slice(0, 100))} in this workspace.`);
}

export interface FilePage {
  files: FileRecord[];
  hasMore: boolean;
}

/** Lists files of a workspace. */
export async function listFilePage(files: FileStore, query: Omit<FileListQuery, 'folder'>): Promise<FilePage> {
  const found = await callStore(() => files.listFiles({ ...query, limit: query.limit + 1 }));
  return { files: found.slice(0, query.limit), hasMore: found.length > query.limit };
}
