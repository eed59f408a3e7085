import type { ContentRecord } from '../../domain/content-record.ts';
import type { RecordedEntry } from '../../domain/ledger-entry.ts';
import type { ContentStore } from '../../platform/storage/ports/contents.ts';
import { writeListed } from './write-listed.ts';

/** Writes the stored input and output of a generation. */
export const writeStoredContent = ({ input, output, error, isCut }: ContentRecord) => ({
  input: JSON.parse(input) as unknown,
  output: JSON.parse(output) as unknown,
  error: error === null ? null : (JSON.parse(error) as unknown),
  truncated: isCut,
});

/** Reads the contents of an export. */
export type ExportedContents = Pick<ContentStore, 'find' | 'listKept'>;

/**
 * Writes entries as lines of JSON, each with its contents if they are kept. Has the contents of one generation at a time in
 * memory.
 *
 * @param contents undefined: they are left out
 * @returns lines with their ends
 */
export async function* writeExportedLines(
  entries: readonly RecordedEntry[],
  contents: ExportedContents | undefined,
): AsyncGenerator<string, void> {
  const kept = new Set(await contents?.listKept(entries.map(({ id }) => id)));
  for (const entry of entries) {
    const content = kept.has(entry.id) ? await contents?.find(entry.id) : undefined;
    const stored = content ? writeStoredContent(content) : null;
    yield `${JSON.stringify({ ...writeListed(entry, true), ...(contents && { content: stored }) })}\n`;
  }
}
