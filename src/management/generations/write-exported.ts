import type { ContentRecord } from '../../domain/content-record.ts';
import type { RecordedEntry } from '../../domain/ledger-entry.ts';
import type { ContentStore } from '../../platform/storage/ports/contents.ts';
import type { EntryFilters } from '../../platform/storage/ports/entries.ts';
import type { LedgerStore } from '../../platform/storage/ports/ledger.ts';
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

/** Entries of a page, which are in memory together. */
const PAGE = 100;

/**
 * Reads all matching entries with their corrections, the oldest first, and writes them as lines. Reads the next page only when
 * its lines are consumed.
 *
 * @returns the lines of each page. None, if a part of the range had no match
 * @throws the store's error
 */
export async function* exportGenerations(
  ledger: Pick<LedgerStore, 'listPage'>,
  contents: ExportedContents | undefined,
  filters: EntryFilters,
): AsyncGenerator<AsyncIterable<string>, void> {
  for (let after: string | undefined; ; ) {
    const page = await ledger.listPage({ ...filters, isAscending: true, after, limit: PAGE });
    yield writeExportedLines(page.entries, contents);
    after = page.next;
    if (after === undefined) return;
  }
}
