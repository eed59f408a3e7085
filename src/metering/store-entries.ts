import { closeSync, fstatSync, fsyncSync, openSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LedgerEntry } from '../domain/ledger-entry.ts';
import type { EntryStore } from '../platform/storage/ports/entries.ts';
import { isRefusedData } from '../platform/storage/refused-data.ts';
import { nameError } from '../platform/telemetry/describe-failure.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import type { OpenedJournal } from './journal.ts';
import { type OrphanedRecords, serializeEntry } from './journal-lines.ts';

export interface StoringParts {
  store: Pick<EntryStore, 'append'>;
  /** Folder of the quarantine file. May be the journal's folder. */
  quarantineFolder: string;
  /** Logs each quarantined entry. */
  log: WriteLog;
}

/** The quarantine file. No start reads it. */
export const QUARANTINE_FILE = 'set-aside.jsonl';

/**
 * Stores entries. An entry whose content the store rejects goes to the quarantine file, so that it delays no other.
 *
 * @throws the store's error if it rejects all, or the file system's; entries stored before may be stored again
 */
export async function storeEntries(parts: StoringParts, entries: readonly LedgerEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const { store, quarantineFolder, log } = parts;
  try {
    await store.append(entries);
  } catch (error) {
    if (!isRefusedData(error)) throw error;
    const [first] = entries;
    if (entries.length === 1) {
      const file = quarantine(quarantineFolder, [serializeEntry(first!)]);
      // only the name of the error, because its message may repeat the row
      const cause = error instanceof Error ? nameError(error) : undefined;
      log('ledger entry quarantined', { cause, generation_id: first!.id, file });
      return;
    }
    const middle = entries.length >> 1;
    await storeEntries(parts, entries.slice(0, middle));
    await storeEntries(parts, entries.slice(middle));
  }
}

/**
 * Stores the records that an earlier process left in a journal, and deletes them there.
 *
 * @param onOrphaned called afterwards, if the journal had entries
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
    const file = quarantine(parts.quarantineFolder, unreadable);
    parts.log('journal lines quarantined', { lines: unreadable.length, file });
  }
  deleteOrphaned();
  if (entries.length > 0) onOrphaned?.(orphaned);
}

/** @returns the path of the file. @throws the file system's error; the file may then end with a partial line */
function quarantine(folder: string, lines: readonly string[]): string {
  const path = join(folder, QUARANTINE_FILE);
  const fd = openSync(path, 'a+', 0o600);
  try {
    // a truncated line stays a separate line
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
