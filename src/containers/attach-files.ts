import { encodePath } from '../management/containers/container-file-id.ts';
import { openFileContent } from '../management/files/file-objects.ts';
import type { EntryToWrite, Sandbox } from '../platform/sandbox/sandbox.ts';
import { callStore } from '../platform/storage/call-store.ts';
import type { FileRecord } from '../platform/storage/ports/files.ts';
import { ToolError } from '../tools/server-tool.ts';
import type { ContainersParts } from './container-parts.ts';
import type { HomeSync } from './home-sync.ts';

/** Bytes of the name of a file on a disk. */
const MAX_NAME_BYTES = 255;

/** Returns the name of an attached file: the end of its id and its name without folders. */
export function nameAttachedFile({ id, filename }: Pick<FileRecord, 'id' | 'filename'>): string {
  const name = filename.slice(filename.lastIndexOf('/') + 1);
  const prefix = `${id.slice(-8)}-`;
  const ending = /\.[^.]{1,16}$/.exec(name)?.[0] ?? '';
  let stem = name.slice(0, name.length - ending.length);
  // A character can have several bytes, and half of a pair is none.
  while (Buffer.byteLength(prefix + stem + ending) > MAX_NAME_BYTES) stem = [...stem].slice(0, -1).join('');
  return prefix + stem + ending;
}

/**
 * Copies files of the workspace to the home folder, unless they are there.
 *
 * @throws {ToolError} if a file does not exist
 */
export async function attachFiles(
  parts: ContainersParts['files'],
  workspaceId: string,
  fileIds: readonly string[],
  home: HomeSync,
  sandbox: Pick<Sandbox, 'write'>,
  now: () => number,
): Promise<void> {
  const missing: FileRecord[] = [];
  for (const id of new Set(fileIds)) {
    const file = await callStore(() => parts.files.findFile(workspaceId, id));
    if (!file) throw new ToolError(`There is no file ${JSON.stringify(id.slice(0, 100))} in this workspace.`);
    if (!home.has(encodePath(nameAttachedFile(file)))) missing.push(file);
  }
  if (missing.length === 0) return;
  const copies = async function* (): AsyncGenerator<EntryToWrite> {
    for (const file of missing) {
      const { content } = await openFileContent(parts, file);
      const path = Buffer.from(nameAttachedFile(file));
      yield { path, kind: 'file', mode: 0o644, modifiedAtMs: now(), content };
    }
  };
  await sandbox.write(copies());
}
