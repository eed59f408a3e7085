import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { listRecordingFiles, type RecordedRequest } from './file-names.ts';

/**
 * Makes sure that files can be written, before a provider is asked and paid.
 *
 * @param name of a recording, which `isName`
 * @param force files of that name may be there
 * @throws {Error} of the file system; `EEXIST` with the `path` that is in the way
 */
export function prepareFolder(folder: string, name: string, force: boolean): void {
  if (!existsSync(folder)) mkdirSync(folder, { recursive: true });
  if (!lstatSync(join(folder, '.')).isDirectory()) throw new Error(`${folder} is no folder`);
  accessSync(folder, constants.W_OK);
  if (!force) refuseTaken(folder, name);
}

/**
 * Puts the files of a recording into a folder, in place of those of an earlier one. A link of the same name is
 * replaced, never followed.
 *
 * @param files by name, all of them among `listRecordingFiles(name)`
 * @throws {Error} of the file system
 */
export function replaceFiles(
  folder: string,
  name: string,
  files: ReadonlyMap<string, Buffer | string>,
  force: boolean,
): void {
  const drafts = [...files.keys()].map((file) => ({ file, draft: join(folder, `.${file}.${process.pid}`) }));
  try {
    for (const { file, draft } of drafts) writeFileSync(draft, files.get(file)!, { flag: 'wx', mode: 0o600 });
    if (force) for (const file of listRecordingFiles(name)) rmSync(join(folder, file), { force: true });
    else refuseTaken(folder, name);
    for (const { file, draft } of drafts) renameSync(draft, join(folder, file));
  } finally {
    for (const { draft } of drafts) rmSync(draft, { force: true });
  }
}

function refuseTaken(folder: string, name: string): void {
  for (const file of listRecordingFiles(name)) {
    const path = join(folder, file);
    // A link that leads nowhere is there, too.
    if (lstatSync(path, { throwIfNoEntry: false })) {
      throw Object.assign(new Error(`${path} is there already`), { code: 'EEXIST', path });
    }
  }
}

const askedSchema = Type.Object({
  wire: Type.String(),
  dialect: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  upstream_model: Type.Optional(Type.String()),
  request: Type.Record(Type.String(), Type.Unknown()),
});

/** Does a JSON value tell of a request in the way of `<name>.request.json`? */
export const isRecordedRequest = (value: unknown): value is RecordedRequest => Value.Check(askedSchema, value);

/** @returns undefined when there is no such file. @throws {Error} when it tells of no request */
export function readRecordedRequest(file: string): RecordedRequest | undefined {
  if (!existsSync(file)) return undefined;
  const asked: unknown = JSON.parse(readFileSync(file, 'utf8'));
  if (isRecordedRequest(asked)) return asked;
  throw new Error(`${file} does not tell of a request: it needs "wire" and "request".`);
}
