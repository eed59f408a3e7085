import { randomBytes } from 'node:crypto';
import { mkdirSync, openSync, readdirSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { DenseSet } from '../domain/dense-set.ts';
import type { InFlightEntry, LedgerEntry } from '../domain/ledger-entry.ts';
import { closedFile, type JournalDisk, JournalFile, nodeDisk } from './journal-file.ts';
import {
  isComplete,
  type OrphanedRecords,
  readOrphanedRecords,
  serializeEntry,
  serializeInFlight,
  serializeEnd,
} from './journal-lines.ts';

/** Bytes after which the journal starts a new file, so that a busy gateway does not keep one forever. */
const ROTATE_BYTES = 8 * 1024 * 1024;

/** Space for the entry of a request, in addition to twice its start line. */
const RESERVE_BASE = 1024;
/** Returns the bytes to reserve for the entry of a request whose start line has this length. */
const reserveFor = (length: number): number => RESERVE_BASE + 2 * length;

/**
 * Requests that are sent to providers, and entries that are not in the store yet, as lines of a file. A written line
 * survives a `kill -9`, because the kernel has it. After `sync` it survives a power failure.
 *
 * The start line of a request reserves space for its entry, so that the entry can be written on a full disk. The
 * space is zeros at the end of the file, which the next lines replace.
 */
export interface Journal {
  /**
   * Writes the start line of a request and reserves the space of its entry. It stays open until its entry is appended.
   *
   * @param before the previous attempt of the request, which this one replaces
   * @throws the file system's error, for example ENOSPC; nothing is written then
   */
  begin(inFlight: InFlightEntry, before?: InFlightRequest): InFlightRequest;
  /**
   * @param begun the last attempt of its request; undefined if none was sent
   * @throws the file system's error, such as ENOSPC; the entry is then not in the journal, and its request stays open
   */
  append(entry: LedgerEntry, begun?: InFlightRequest): void;
  /** Reserves the space of a further request. @throws the file system's error if there is none */
  reserve(inFlight: InFlightEntry): void;
  /** Closes a request whose entry is in the store without being in the journal. */
  settle(begun: InFlightRequest): void;
  /** Resolves when everything written so far is on disk. Many calls share one sync. @throws the file system's error */
  sync(): Promise<void>;
  /** Returns a mark after the last appended line. */
  mark(): JournalMark;
  /** Deletes the lines before the mark, because all their entries are in the store. */
  forget(mark: JournalMark): void;
  /** Writes fail afterwards. */
  close(): void;
}

/** A request in flight. */
export interface InFlightRequest {
  readonly inFlight: InFlightEntry;
  /** @see DenseSet */
  place: number;
  /** Bytes reserved for its entry. */
  reserved: number;
}

export interface JournalMark {
  file: number;
  bytes: number;
}

export interface OpenedJournal {
  journal: Journal;
  /** Records to store and then to delete. */
  orphaned: OrphanedRecords;
  deleteOrphaned(): void;
}

/** Opens the journal of a folder. */
export function openJournal(folder: string, disk: JournalDisk = nodeDisk): OpenedJournal {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const old = readdirSync(folder)
    .filter((name) => name.startsWith('ledger-') && name.endsWith('.jsonl'))
    .sort() // by creation time
    .map((name) => join(folder, name));
  const orphaned = readOrphanedRecords(old);

  const files = new Map<number, string>();
  const open = new DenseSet<InFlightRequest>();
  let number = 0;
  let file = closedFile;
  let copied = 0; // leading bytes: the start lines of open requests, from the previous file
  let reserved = 0; // for the entries of all open requests

  /** Starts a new file. If this fails, the old file stays in use. */
  function openNext(): void {
    const path = join(folder, `ledger-${Date.now()}-${randomBytes(4).toString('hex')}.jsonl`);
    const next = new JournalFile(openSync(path, 'wx', 0o600), disk, folder);
    try {
      const lines = open.list().map(({ inFlight }) => serializeInFlight(inFlight));
      if (lines.length > 0) next.write(lines.join(''), reserved);
    } catch (error) {
      next.close();
      unlinkSync(path);
      throw error;
    }
    file.close();
    file = next;
    copied = next.bytes;
    files.set(++number, path);
  }
  openNext();

  const journal: Journal = {
    begin(inFlight, before) {
      const line = serializeInFlight(inFlight);
      const begun = { inFlight, place: -1, reserved: reserveFor(line.length) };
      const after = reserved + begun.reserved - (before?.reserved ?? 0);
      file.write(line, after);
      reserved = after;
      if (before) open.delete(before);
      open.add(begun);
      return begun;
    },
    append(entry, begun) {
      const isWritten = begun !== undefined && isComplete(begun.inFlight, entry);
      const after = reserved - (begun?.reserved ?? 0);
      const write = (written: LedgerEntry) =>
        file.write(isWritten ? serializeEnd(written) : `${serializeEntry(written)}\n`, after);
      try {
        write(entry);
      } catch (error) {
        if (entry.history === undefined) throw error;
        const { history: _, ...rest } = entry; // on a full disk, the reserved space may be too small for it
        write(rest);
      }
      if (begun) journal.settle(begun);
    },
    reserve(inFlight) {
      const { length } = serializeInFlight(inFlight);
      file.reserve(length + reserved + reserveFor(length));
    },
    settle(begun) {
      reserved -= begun.reserved;
      open.delete(begun);
    },
    sync: () => file.sync(),
    mark: () => ({ file: number, bytes: file.bytes }),
    forget(mark) {
      if (file === closedFile) return;
      for (const [old, path] of files) {
        if (old < mark.file) {
          unlinkSync(path);
          files.delete(old);
        }
      }
      if (mark.file !== number) return;
      if (mark.bytes === file.bytes && open.size === 0) {
        file.empty();
        copied = 0;
      } else if (file.bytes - copied > ROTATE_BYTES) openNext();
    },
    close() {
      const { bytes } = file;
      file.close();
      file = closedFile;
      const path = files.get(number);
      if (bytes === 0 && path !== undefined) unlinkSync(path);
    },
  };
  return { journal, orphaned, deleteOrphaned: () => old.forEach((path) => void unlinkSync(path)) };
}
