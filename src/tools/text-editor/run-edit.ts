import type { Static } from 'typebox';
import type { ContainerFileCitation, OpenContainer } from '../containers.ts';
import { type ToolCallContext, ToolError } from '../server-tool.ts';
import { insertAfterLine, numberLines, replaceOnce } from './edit-text.ts';
import type { textEditorArguments } from './parameters.ts';

type Arguments = Static<typeof textEditorArguments>;

/** Maximum bytes of a file. */
const MAX_BYTES = 1024 * 1024;

/** Maximum characters that one view returns. */
const MAX_VIEWED = 100_000;

/** Time limit of the listing of a folder. */
export const LIST_MS = 30_000;

/** Lists two levels of a folder. The path is in a variable, so that it has no meaning for the shell. */
const LIST_COMMAND = 'cd -- "$FOLDER" && find . -mindepth 1 -maxdepth 2 | sort | head -n 1000';

/** The result of an operation, for the model. */
export interface EditResult {
  readonly result: string;
  /** The file that was written. */
  readonly file?: ContainerFileCitation;
}

/**
 * Runs one operation.
 *
 * @param path below the home folder; empty: the folder itself
 * @throws {ToolError} if the file cannot be read or changed as requested
 */
export async function runEdit(
  container: OpenContainer,
  input: Arguments,
  path: string,
  context: Pick<ToolCallContext, 'signal'>,
): Promise<EditResult> {
  if (input.command === 'view') return { result: await viewPath(container, input, path, context) };
  if (path === '') throw new ToolError('The path names a folder.');
  const content = Buffer.from(await writeText(container, input, path));
  if (content.length > MAX_BYTES) throw new ToolError(`The file would have more than ${MAX_BYTES} bytes.`);
  const file = await container.write(path, content);
  return { result: `The file ${path} has ${content.length} bytes now.`, file };
}

/** Returns the new text of a file. */
async function writeText(
  container: OpenContainer,
  {
    command,
    file_text: whole = '',
    old_str: before = '',
    new_str: after = '',
    insert_line: line = 0,
    insert_text: inserted = '',
  }: Arguments,
  path: string,
): Promise<string> {
  if (command === 'create') return whole;
  const bytes = await container.read(path, MAX_BYTES + 1);
  if (!bytes) throw new ToolError(`There is no file ${path}. Create it with \`create\`.`);
  const text = decodeText(bytes, path);
  return command === 'insert' ? insertAfterLine(text, line, inserted) : replaceOnce(text, before, after);
}

async function viewPath(
  container: OpenContainer,
  { view_range: range }: Arguments,
  path: string,
  { signal }: Pick<ToolCallContext, 'signal'>,
): Promise<string> {
  const bytes = path === '' ? undefined : await container.read(path, MAX_BYTES + 1);
  if (bytes) {
    const shown = numberLines(decodeText(bytes, path), range);
    if (shown.length <= MAX_VIEWED) return shown;
    throw new ToolError(
      `The text has ${shown.length} characters; at most ${MAX_VIEWED} are shown. Use \`view_range\`.`,
    );
  }
  const { stdout, outcome } = await container.run({
    command: LIST_COMMAND,
    timeoutMs: LIST_MS,
    maxOutputLength: MAX_VIEWED,
    signal,
    environment: { FOLDER: path === '' ? '.' : path },
  });
  if (outcome.type === 'exit' && outcome.exit_code === 0) return stdout === '' ? 'The folder is empty.' : stdout;
  throw new ToolError(`There is no file ${path}.`);
}

/** @throws {ToolError} if it is too large, or not text */
function decodeText(bytes: Buffer, path: string): string {
  if (bytes.length > MAX_BYTES) throw new ToolError(`The file ${path} has more than ${MAX_BYTES} bytes.`);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new ToolError(`The file ${path} is not UTF-8 text.`);
  }
}
