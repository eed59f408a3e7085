import type { SearchedFiles } from '../pipeline/run/check-searched-files.ts';
import { callStore } from '../platform/storage/call-store.ts';
import type { FileStore } from '../platform/storage/ports/files.ts';
import type { PassageStore } from '../platform/storage/ports/passages.ts';
import type { FileTexts } from '../tools/file-search/search-files.ts';

/** Creates the port of the tool `router:file_search`: the texts of the files of the workspace of the caller. */
export const createFileTexts = (passages: PassageStore): FileTexts => ({
  countWaiting: ({ workspaceId }) => callStore(() => passages.readIndexState(workspaceId)),
  countWords: ({ workspaceId }, words, max) => callStore(() => passages.countWords(workspaceId, words, max)),
  findPassages: ({ workspaceId }, query) => callStore(() => passages.findPassages({ ...query, workspaceId })),
});

/** Creates the port of the files and folders that a request searches. */
export const createSearchedFiles = (files: FileStore): SearchedFiles => ({
  hasFile: async ({ workspaceId }, id) => (await callStore(() => files.findFile(workspaceId, id))) !== undefined,
  hasFolder: async ({ workspaceId }, folder) =>
    (await callStore(() => files.listFiles({ workspaceId, folder, limit: 1 }))).length > 0,
});
