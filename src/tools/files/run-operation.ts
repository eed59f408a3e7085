import type { Static } from 'typebox';
import type { Caller } from '../../domain/caller.ts';
import { ToolError } from '../server-tool.ts';
import type { filesArguments } from './parameters.ts';
import type { WorkspaceFile, WorkspaceFiles } from '../workspace-files.ts';

/** Maximum number of files in one list. */
const MAX_LISTED = 200;

/** Maximum bytes of a file that a model reads. The rest is left out. */
const MAX_READ = 200_000;

/** Maximum bytes of a file that can be edited. */
const MAX_EDITED = 5 * 1024 * 1024;

export interface FileOperationOutcome {
  result: Record<string, unknown>;
  /** The file that was read or created. */
  file?: WorkspaceFile;
}

/** Runs one operation. @throws {ToolError} and GatewayError, with a message for the model */
export async function runFileOperation(
  files: WorkspaceFiles,
  caller: Caller,
  input: Static<typeof filesArguments>,
): Promise<FileOperationOutcome> {
  switch (input.operation) {
    case 'list': {
      const { files: found, hasMore } = await files.list(caller, input.filename_filter, MAX_LISTED);
      return { result: { files: found.map(writeFile), has_more: hasMore } };
    }
    case 'read': {
      const file = await getTextFile(files, caller, input);
      const bytes = await files.read(caller, file, MAX_READ);
      const content = decode(bytes, file.bytes > MAX_READ);
      const notice = file.bytes > MAX_READ && {
        truncated: `The file has ${file.bytes} bytes; these are the first ${MAX_READ}.`,
      };
      return { file, result: { ...writeFile(file), content, ...notice } };
    }
    case 'write': {
      const file = await files.write(caller, getArgument(input, 'filename'), getArgument(input, 'content'));
      return { file, result: writeFile(file) };
    }
    case 'edit': {
      const [before, after] = [getArgument(input, 'old_string'), getArgument(input, 'new_string')];
      const original = await getTextFile(files, caller, input);
      if (original.bytes > MAX_EDITED) {
        throw new ToolError(
          `${original.filename} has ${original.bytes} bytes; files up to ${MAX_EDITED} can be edited.`,
        );
      }
      const text = decode(await files.read(caller, original, MAX_EDITED), false);
      const file = await files.write(caller, input.new_filename ?? original.filename, replaceOnce(text, before, after));
      return { file, result: { ...writeFile(file), edited_from: original.id } };
    }
  }
}

async function getTextFile(
  files: WorkspaceFiles,
  caller: Caller,
  { file_id: id, filename = '' }: { file_id?: string; filename?: string },
): Promise<WorkspaceFile> {
  if (id === undefined && filename === '') throw new ToolError('Name the file with file_id or filename.');
  const file = await files.find(caller, id === undefined ? { filename } : { id });
  if (!file) throw new ToolError(`There is no file ${JSON.stringify((id ?? filename).slice(0, 300))}. List the files.`);
  if (!file.mimeType.startsWith('text/') && !jsonTypes.has(file.mimeType)) {
    throw new ToolError(`${file.filename} is ${file.mimeType}. Only text files can be read and edited.`);
  }
  return file;
}

const jsonTypes: ReadonlySet<string> = new Set(['application/json', 'application/x-ndjson']);

/** @throws {ToolError} unless `before` is in the text exactly once */
function replaceOnce(text: string, before: string, after: string): string {
  if (before === '') throw new ToolError('old_string is empty. Copy a part of the file into it.');
  const at = text.indexOf(before);
  if (at === -1) throw new ToolError('old_string is not in the file. Read the file and copy the text exactly.');
  if (text.indexOf(before, at + 1) !== -1) {
    throw new ToolError('old_string is in the file more than once. Add text before and after it.');
  }
  return text.slice(0, at) + after + text.slice(at + before.length);
}

/** Returns an argument. @throws {ToolError} if the call does not have it */
function getArgument<Field extends string>(
  input: Partial<Record<Field, string>> & { operation: string },
  field: Field,
): string {
  const value = input[field];
  if (value === undefined) throw new ToolError(`The operation ${input.operation} needs ${field}.`);
  return value;
}

/** @param isCut whether the last character may be incomplete */
const decode = (bytes: Buffer, isCut: boolean): string =>
  new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: isCut });

const writeFile = (file: WorkspaceFile): Record<string, unknown> => ({
  file_id: file.id,
  filename: file.filename,
  mime_type: file.mimeType,
  size_bytes: file.bytes,
  created_at: new Date(file.createdAtMs).toISOString(),
});
