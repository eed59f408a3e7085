import { buffer } from 'node:stream/consumers';
import { createFile } from '../management/files/create-file.ts';
import { openFileContent } from '../management/files/file-objects.ts';
import { listFilePage } from '../management/files/find-file.ts';
import type { FileParts } from '../management/files/parts.ts';
import { callStore } from '../platform/storage/call-store.ts';
import type { WorkspaceFiles } from '../tools/files/workspace-files.ts';

/** Creates the port of the tool `router:files`: the files of the workspace of the caller. */
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
});

async function* toPieces(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}
