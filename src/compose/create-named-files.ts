import { buffer } from 'node:stream/consumers';
import { mayReadFiles } from '../domain/reach.ts';
import { openFileContent } from '../management/files/file-objects.ts';
import type { FileParts } from '../management/files/parts.ts';
import type { NamedFiles } from '../pipeline/run/insert-stored-files.ts';
import { callStore } from '../platform/storage/call-store.ts';

/** Creates the port of stored files that requests name. */
export const createNamedFiles = (parts: FileParts, limits: NamedFiles['limits']): NamedFiles => ({
  async find(caller, id) {
    if (!mayReadFiles(caller)) return undefined;
    const { workspaceId } = caller;
    const file = await callStore(() => parts.files.findFile(workspaceId, id));
    return file && { ...file, read: async () => buffer((await openFileContent(parts, file)).content) };
  },
  limits,
});
