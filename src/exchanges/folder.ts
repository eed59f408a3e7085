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
import Schema from 'typebox/schema';
import { listRecordingFiles, type RecordedRequest } from './file-names.ts';

/**
 * Checks that files can be written, before the gateway calls and pays a provider.
 *
 * @param name of a recording, which `isName`
 * @param force whether files of that name may exist
 * @throws {Error} of the file system; `EEXIST` has the `path` of the existing file
 */
export function prepareFolder(folder: string, name: string, force: boolean): void {
  if (!existsSync(folder)) mkdirSync(folder, { recursive: true });
  if (!lstatSync(join(folder, '.')).isDirectory()) throw new Error(`${folder} is not a folder`);
  accessSync(folder, constants.W_OK);
  if (!force) refuseTaken(folder, name);
}

/**
 * Writes the files of a recording into a folder and replaces those of an earlier one. Replaces a link of the same name
 * and never follows it.
 *
 * @param files by name, all of them in `listRecordingFiles(name)`
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
    // A dangling link counts as existing.
    if (lstatSync(path, { throwIfNoEntry: false })) {
      throw Object.assign(new Error(`${path} already exists`), { code: 'EEXIST', path });
    }
  }
}

const askedSchema = Type.Object({
  wire: Type.String(),
  dialect: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  upstream_model: Type.Optional(Type.String()),
  request: Type.Record(Type.String(), Type.Unknown()),
});

/** Whether a JSON value has the shape of `<name>.request.json`. */
export const isRecordedRequest = (value: unknown): value is RecordedRequest => Schema.Check(askedSchema, value);

/** @returns undefined if there is no such file. @throws {Error} if it has another shape */
export function readRecordedRequest(file: string): RecordedRequest | undefined {
  if (!existsSync(file)) return undefined;
  const asked: unknown = JSON.parse(readFileSync(file, 'utf8'));
  if (isRecordedRequest(asked)) return asked;
  throw new Error(`${file} does not describe a request: it needs "wire" and "request".`);
}
