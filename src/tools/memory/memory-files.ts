import type { Caller } from '../../domain/caller.ts';
import { parseJson } from '../../domain/parse-json.ts';
import { ToolError } from '../server-tool.ts';
import type { WorkspaceFile, WorkspaceFiles } from '../workspace-files.ts';

/** Values are files of a folder: `memory/<key>.json`. That of an intern is its own. No name of one is a part of the other. */
const findFolder = ({ internId }: Caller): string =>
  internId === undefined ? 'memory/' : `intern-memories/${internId}/`;
const ENDING = '.json';

/** Files of one list, and so the keys that a model sees. */
const MAX_LISTED = 200;

/** Characters of a value. As JSON, they fit into `MAX_BYTES`. */
const MAX_VALUE = 32_000;
const MAX_BYTES = 200_000;

const keyShape = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;

/** @throws {ToolError} */
function nameFile(caller: Caller, key: string): string {
  if (keyShape.test(key)) return findFolder(caller) + key + ENDING;
  throw new ToolError(
    'A key has 1 to 128 letters, digits, dots, hyphens and underscores, and does not begin with a dot.',
  );
}

/** Lists the keys of the workspace or the intern, without duplicates. */
export async function listMemoryKeys(files: WorkspaceFiles, caller: Caller): Promise<string[]> {
  const folder = findFolder(caller);
  const { files: found } = await files.list(caller, folder, MAX_LISTED);
  const keys = found.flatMap(({ filename }) =>
    filename.startsWith(folder) && filename.endsWith(ENDING)
      ? [filename.slice(folder.length, -ENDING.length)].filter((key) => keyShape.test(key))
      : [],
  );
  return [...new Set(keys)].toSorted();
}

/** @throws {ToolError} if there is no value */
export async function readValue(files: WorkspaceFiles, caller: Caller, key: string): Promise<unknown> {
  const file = await files.find(caller, { filename: nameFile(caller, key) });
  if (!file) throw new ToolError(`There is no value for the key ${key}. Read without a key to list the keys.`);
  const text = (await files.read(caller, file, MAX_BYTES)).toString();
  try {
    return parseJson(text);
  } catch {
    return text; // an uploaded file of this name
  }
}

/** Replaces a value. A reader sees the old or the new one. */
export async function writeValue(files: WorkspaceFiles, caller: Caller, key: string, value: string): Promise<void> {
  if (value.length > MAX_VALUE)
    throw new ToolError(`The value has ${value.length} characters; at most ${MAX_VALUE} are kept.`);
  const written = await files.write(caller, nameFile(caller, key), JSON.stringify(value));
  for (const file of await listVersions(files, caller, key)) {
    if (file.id < written.id) await files.remove(caller, file); // ids sort by time
  }
}

/** @throws {ToolError} if there is no value */
export async function deleteValue(files: WorkspaceFiles, caller: Caller, key: string): Promise<void> {
  const versions = await listVersions(files, caller, key);
  if (versions.length === 0) throw new ToolError(`There is no value for the key ${key}.`);
  for (const file of versions) await files.remove(caller, file);
}

/** More than one after concurrent writes. */
async function listVersions(files: WorkspaceFiles, caller: Caller, key: string): Promise<WorkspaceFile[]> {
  const name = nameFile(caller, key);
  const { files: found } = await files.list(caller, name, MAX_LISTED);
  return found.filter(({ filename }) => filename === name);
}
