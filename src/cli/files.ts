import { createReadStream } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { openFilesOnce } from '../compose/open-files.ts';
import type { Config } from '../config/schema.ts';
import { GatewayError } from '../domain/errors.ts';
import { createFile } from '../management/files/create-file.ts';
import { deleteFile } from '../management/files/find-file.ts';
import type { FileParts } from '../management/files/parts.ts';
import { writeFileRecord } from '../management/files/write-file.ts';
import type { FileRecord } from '../platform/storage/ports/files.ts';
import { formatDay } from './format-time.ts';
import { requireStore, withStore } from './open-store.ts';
import { operator } from './operate.ts';
import { type JsonOption, printObject } from './print-object.ts';
import { resolveWorkspace } from './resolve-workspace.ts';
import { readIssues } from './read-issues.ts';
import { drawTable } from './table.ts';
import { CommandError, readMessage, type Terminal } from './terminal.ts';

export interface FilePlace {
  /** Name, slug or id of the workspace. Absent: the default one. */
  workspace?: string;
}

/** Files that are read at once. */
const PAGE = 500;

/** Opens the files of a workspace. @throws {CommandError} */
const withFiles = async <Result>(
  { stderr }: Pick<Terminal, 'stderr'>,
  config: Config,
  { workspace }: FilePlace,
  use: (parts: FileParts, workspaceId: string) => Promise<Result>,
): Promise<Result> => {
  requireStore(config);
  return withStore({ config, stderr }, async (storage) => {
    try {
      const { id } = await resolveWorkspace(storage.management, workspace);
      return await use(openFilesOnce(config, storage.files), id);
    } catch (error) {
      if (error instanceof GatewayError) throw new CommandError(readIssues(error), { cause: error });
      throw error;
    }
  });
};

/** Prints the files of a workspace, the oldest first: as a table, or as a JSON list. */
export async function printFiles(
  terminal: Terminal,
  config: Config,
  options: FilePlace & { json?: boolean },
): Promise<void> {
  const { stdout } = terminal;
  const found = await withFiles(terminal, config, options, async ({ files }, workspaceId) => {
    const all: FileRecord[] = [];
    for (let page: FileRecord[] | undefined; page === undefined || page.length === PAGE; all.push(...page)) {
      page = await files.listFiles({ workspaceId, after: all.at(-1)?.id, limit: PAGE });
    }
    return all;
  });
  if (options.json) {
    stdout.write(`${JSON.stringify(found.map(writeFileRecord), undefined, 2)}\n`);
    return;
  }
  if (found.length === 0) {
    stdout.write('The workspace has no files. "headgate files upload" adds one.\n');
    return;
  }
  const cells = found.map((file) => [
    file.id,
    file.filename,
    file.mimeType,
    String(file.bytes),
    formatDay(file.createdAtMs),
  ]);
  const columns = [
    { title: 'ID' },
    { title: 'NAME', canWrap: true },
    { title: 'TYPE', canWrap: true },
    { title: 'BYTES', isNumber: true },
    { title: 'CREATED' },
  ];
  stdout.write(drawTable(terminal, columns, cells));
}

/** Stores a file as an upload does. Prints it. */
export async function uploadFile(
  terminal: Terminal,
  config: Config,
  path: string,
  options: FilePlace & JsonOption & { name?: string },
): Promise<void> {
  const place = resolve(terminal.cwd, path);
  const filename = options.name ?? basename(place);
  const stored = await withFiles(terminal, config, options, (parts, workspaceId) =>
    createFile(parts, operator, { workspaceId, filename, downloadable: false, content: readPieces(place) }),
  );
  printObject(terminal, writeFileRecord(stored), options);
}

/** @throws {GatewayError} if the file cannot be read, so that the message names it */
async function* readPieces(place: string): AsyncGenerator<Buffer> {
  const stream: Readable = createReadStream(place);
  try {
    yield* stream as AsyncIterable<Buffer>;
  } catch (error) {
    throw new GatewayError('invalid_request', readMessage(error), { cause: error });
  }
}

export async function removeFile(terminal: Terminal, config: Config, id: string, place: FilePlace): Promise<void> {
  const { filename } = await withFiles(terminal, config, place, (parts, workspaceId) =>
    deleteFile(parts, operator, workspaceId, id),
  );
  terminal.stdout.write(`Deleted ${id} (${filename}).\n`);
}
