import { closeSync, fstatSync, fsyncSync, openSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LedgerEntry } from '../domain/ledger-entry.ts';
import { isRefusedData } from '../platform/storage/refused-data.ts';
import { type OrphanedRecords, type OpenedJournal, serializeEntry } from './journal.ts';
import type { EntryStore } from './ledger.ts';

export interface StoringParts {
  store: Pick<EntryStore, 'append'>;
  /** Where lines are put that no store will ever take: a file of this folder, which may be that of the journal. */
  quarantineFolder: string;
  /** Told of them. */
  onQuarantined: (message: string, cause?: unknown) => void;
}

/** No start reads it. */
export const QUARANTINE_FILE = 'set-aside.jsonl';

/**
 * Stores entries. One that the store refuses for what is in it is set aside, so that it holds up no other.
 *
 * @throws the store's error when it takes none, or the file system's; what was stored by then may be stored again
 */
export async function storeEntries(parts: StoringParts, entries: readonly LedgerEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const { store, quarantineFolder, onQuarantined } = parts;
  try {
    await store.append(entries);
  } catch (error) {
    if (!isRefusedData(error)) throw error;
    const [first] = entries;
    if (entries.length === 1) {
      const path = quarantined(quarantineFolder, [serializeEntry(first!)]);
      onQuarantined(`The store refuses the ledger entry ${first!.id} for what is in it; it stands in ${path}.`, error);
      return;
    }
    const middle = entries.length >> 1;
    await storeEntries(parts, entries.slice(0, middle));
    await storeEntries(parts, entries.slice(middle));
  }
}

/**
 * Stores what an earlier process left in a journal, and removes it there.
 *
 * @param onOrphaned told of it then, if it is anything
 * @throws the store's or the file system's error
 */
export async function storeOrphaned(
  parts: StoringParts,
  { orphaned, deleteOrphaned }: OpenedJournal,
  onOrphaned?: (left: OrphanedRecords) => void,
): Promise<void> {
  const { entries, unreadable } = orphaned;
  await storeEntries(parts, entries);
  if (unreadable.length > 0) {
    const path = quarantined(parts.quarantineFolder, unreadable);
    const lines = unreadable.length === 1 ? 'a line' : `${unreadable.length} lines`;
    parts.onQuarantined(
      `The journal of the ledger has ${lines} that nobody can read; what was there stands in ${path}.`,
    );
  }
  deleteOrphaned();
  if (entries.length > 0) onOrphaned?.(orphaned);
}

/** @returns the path of the file. @throws the file system's error; half a line of these may then stand there */
function quarantined(folder: string, lines: readonly string[]): string {
  const path = join(folder, QUARANTINE_FILE);
  const fd = openSync(path, 'a+', 0o600);
  try {
    // What a full disk cut off stays a line of its own.
    writeFileSync(fd, `${endsInsideLine(fd) ? '\n' : ''}${lines.join('\n')}\n`);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  return path;
}

function endsInsideLine(fd: number): boolean {
  const { size } = fstatSync(fd);
  const last = Buffer.from('\n');
  if (size > 0) readSync(fd, last, 0, 1, size - 1);
  return last.toString('latin1') !== '\n';
}
