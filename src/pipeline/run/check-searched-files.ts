import type { Caller } from '../../domain/caller.ts';
import { GatewayError } from '../../domain/errors.ts';
import { isGatewayStore, readPlaces, searchesStoredFiles } from '../../domain/file-search.ts';
import type { Tool } from '../../domain/items.ts';
import { findToolPath } from '../../domain/late-tools.ts';
import { pass, type Verdict } from '../../domain/verdict.ts';
import type { Inspector } from './inspect-input.ts';
import type { Run } from './run.ts';

/** The stored files of callers, by the words of a search. */
export interface SearchedFiles {
  hasFile(caller: Caller, id: string): Promise<boolean>;
  /** Whether the name of a file begins so. */
  hasFolder(caller: Caller, folder: string): Promise<boolean>;
}

/**
 * Creates the inspector that rejects a file search in files or folders that do not exist.
 *
 * @see docs/reference/tools/file-search.md
 */
export const createSearchedFilesInspector =
  (files: SearchedFiles): Inspector =>
  (run, added) => {
    const { tools } = run.request;
    if (added || !tools) return pass;
    const named = tools.flatMap(listNames).filter(({ name }) => isGatewayStore(name)); // the tool rejects others
    return named.length === 0 ? pass : checkNames(run, named, files);
  };

/** A file or folder, and the path of its name. */
interface SearchedName {
  path: string;
  name: string;
}

function listNames(tool: Tool, index: number): SearchedName[] {
  if (tool.type !== 'router:file_search' && !searchesStoredFiles(tool as { type: string })) return [];
  const place = findToolPath(tool, index);
  if (tool.type === 'router:file_search') {
    const { file_ids: ids = [], folders = [] } =
      (tool as { parameters?: Partial<Record<string, string[]>> }).parameters ?? {};
    return [
      ...ids.map((name, at) => ({ path: `${place}.parameters.file_ids[${at}]`, name })),
      ...folders.map((name, at) => ({ path: `${place}.parameters.folders[${at}]`, name })),
    ];
  }
  const ids = (tool as { vector_store_ids?: unknown }).vector_store_ids as string[]; // it names stored files
  const { fileIds, folders } = readPlaces(ids);
  return [...fileIds, ...folders].map((name) => ({ path: `${place}.vector_store_ids[${ids.indexOf(name)}]`, name }));
}

/** @throws {GatewayError} `invalid_request` that names the first one that does not exist */
async function checkNames(run: Run, named: readonly SearchedName[], files: SearchedFiles): Promise<Verdict> {
  for (const { path, name } of named) {
    const isFolder = name.endsWith('/');
    const exists = isFolder ? await files.hasFolder(run.caller, name) : await files.hasFile(run.caller, name);
    if (run.cancellation.reason) throw run.cancellation.reason;
    if (exists) continue;
    const shown = JSON.stringify(name.slice(0, 100));
    const message = isFolder
      ? `no file name in this workspace begins with ${shown}.`
      : `there is no file ${shown} in this workspace.`;
    throw new GatewayError('invalid_request', `${path}: ${message}`, {
      metadata: { param: path, issues: [{ path, message }] },
    });
  }
  return pass;
}
