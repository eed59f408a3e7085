import { buffer } from 'node:stream/consumers';
import { GatewayError } from '../domain/errors.ts';
import { createFile } from '../management/files/create-file.ts';
import { openFileContent } from '../management/files/file-objects.ts';
import { deleteFile, listFilePage } from '../management/files/find-file.ts';
import type { FileParts } from '../management/files/parts.ts';
import { callStore } from '../platform/storage/call-store.ts';
import type { WorkspaceFiles } from '../tools/workspace-files.ts';

/** Creates the port of the tools `router:files` and `router:memory`: the files of the workspace of the caller. */
export const createWorkspaceFiles = (parts: FileParts): WorkspaceFiles => ({
  list: ({ workspaceId }, filter, limit) => listFilePage(parts.files, { workspaceId, filter, limit }),
  find: ({ workspaceId }, by) =>
    callStore(() =>
      'id' in by ? parts.files.findFile(workspaceId, by.id) : parts.files.findFileByName(workspaceId, by.filename),
    ),
  async read({ workspaceId }, { id }, maxBytes) {
    const file = { workspaceId, id };
    const { content } = await openFileContent(parts, file, { start: 0, end: maxBytes });
    return buffer(content);
  },
  write: ({ workspaceId, keyHash }, filename, text) =>
    createFile(parts, { keyHash }, { workspaceId, filename, downloadable: true, content: toPieces(text) }),
  async remove({ workspaceId, keyHash }, { id }) {
    try {
      await deleteFile(parts, { keyHash }, workspaceId, id);
    } catch (error) {
      if (!(error instanceof GatewayError && error.kind === 'not_found')) throw error;
    }
  },
});

async function* toPieces(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}
