import { ToolError } from '../server-tool.ts';

/** Replaces the only place of a text. @throws {ToolError} if it is not there, or several times */
export function replaceOnce(text: string, before: string, after: string): string {
  if (before === '') throw new ToolError('`old_str` is empty. Name the text to replace.');
  const at = text.indexOf(before);
  if (at === -1) throw new ToolError('`old_str` is not in the file. View the file, and copy the text exactly.');
  if (text.indexOf(before, at + 1) !== -1) {
    throw new ToolError('`old_str` is in the file several times. Add the lines around it, so that it is unique.');
  }
  return text.slice(0, at) + after + text.slice(at + before.length);
}

/** Inserts a text after a line, as lines of its own. @throws {ToolError} if the file has fewer lines */
export function insertAfterLine(text: string, line: number, inserted: string): string {
  const lines = splitLines(text);
  if (line > lines.length) throw new ToolError(`\`insert_line\` is ${line}, and the file has ${countLines(lines)}.`);
  return [...lines.slice(0, line), ...splitLines(inserted), ...lines.slice(line)].map((each) => `${each}\n`).join('');
}

/**
 * Returns lines with their numbers.
 *
 * @param range the first and the last line, from 1; -1 as the last one: the end
 * @throws {ToolError} if the range is invalid
 */
export function numberLines(text: string, range: readonly number[] | undefined): string {
  const lines = splitLines(text);
  if (lines.length === 0) return 'The file is empty.';
  const [from = 1, to = -1] = range ?? [];
  const last = to === -1 ? lines.length : to;
  if (from < 1 || last < from || from > lines.length) {
    throw new ToolError(`\`view_range\` is ${from} to ${to}, and the file has ${countLines(lines)}.`);
  }
  const shown = lines.slice(from - 1, last);
  return shown.map((line, index) => `${from + index}\t${line}`).join('\n');
}

const countLines = ({ length }: readonly string[]): string => `${length} line${length === 1 ? '' : 's'}`;

/** A line break at the end begins no other line. */
function splitLines(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
