import { randomBytes } from 'node:crypto';
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { LedgerEntry } from '../domain/ledger-entry.ts';

/** Size at which the journal goes on in a new file, so that a busy gateway does not keep one for ever. */
const ROTATE_BYTES = 8 * 1024 * 1024;

/**
 * Entries on their way to the store, as lines of a file. `append` has handed the line to the kernel when it returns, so
 * the entry outlives a `kill -9`; the store makes it outlive a power cut.
 */
export interface Journal {
  /** @throws the file system's error, for example ENOSPC; the entry is then not in the journal */
  append(entry: LedgerEntry): void;
  /** Marks the place up to which everything has been appended so far. */
  mark(): JournalMark;
  /** All entries before the mark are in the store: their lines may go. */
  forget(mark: JournalMark): void;
  close(): void;
}
export interface JournalMark {
  file: number;
  bytes: number;
}

/**
 * Opens the journal of a folder.
 *
 * @returns the journal, and what a process before this one left there: to be stored, then passed to `forgetLeft`
 */
export function openJournal(folder: string): { journal: Journal; left: LedgerEntry[]; forgetLeft(): void } {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const old = readdirSync(folder)
    .filter((name) => name.startsWith('ledger-') && name.endsWith('.jsonl'))
    .map((name) => join(folder, name));
  const left = old.flatMap(readEntries);

  const files = new Map<number, string>();
  let number = 0;
  let fd = -1;
  let bytes = 0;

  function openNext(): void {
    const path = join(folder, `ledger-${Date.now()}-${randomBytes(4).toString('hex')}.jsonl`);
    const next = openSync(path, 'ax', 0o600); // when this fails, the old file goes on
    if (fd !== -1) closeSync(fd);
    fd = next;
    bytes = 0;
    files.set(++number, path);
  }
  openNext();

  const journal: Journal = {
    append(entry) {
      const line = Buffer.from(`${writeEntry(entry)}\n`);
      let written = 0;
      try {
        while (written < line.length) written += writeSync(fd, line, written);
      } catch (error) {
        // Half a line must not stand before the next one.
        if (written > 0) ftruncateSync(fd, bytes);
        throw error;
      }
      bytes += line.length;
    },
    mark: () => ({ file: number, bytes }),
    forget(mark) {
      for (const [file, path] of files) {
        if (file < mark.file) {
          unlinkSync(path);
          files.delete(file);
        }
      }
      if (mark.file !== number) return;
      if (mark.bytes === bytes) {
        if (bytes > 0) ftruncateSync(fd, 0);
        bytes = 0;
      } else if (bytes > ROTATE_BYTES) openNext();
    },
    close() {
      closeSync(fd);
      const path = files.get(number);
      if (bytes === 0 && path !== undefined) unlinkSync(path);
    },
  };
  return { journal, left, forgetLeft: () => old.forEach((path) => void unlinkSync(path)) };
}

/** An entry as a line, without its end. */
export function writeEntry(entry: LedgerEntry): string {
  const { costNanoUsd, inputCostNanoUsd } = entry;
  return JSON.stringify({ ...entry, costNanoUsd: String(costNanoUsd), inputCostNanoUsd: String(inputCostNanoUsd) });
}

/** Fields that a build before this one did not write. */
const notYetKnown = {
  ...{ router: null, task: null, providerId: null, endpointId: null, tier: null },
  ...{ isByok: false, upstreamCostNanoUsd: null },
};

/** The whole lines of a file; a last line without its line end was never acknowledged. */
function readEntries(path: string): LedgerEntry[] {
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.flatMap((line) => {
    try {
      const entry = JSON.parse(line);
      const costNanoUsd = BigInt(entry.costNanoUsd);
      const inputCostNanoUsd = BigInt(entry.inputCostNanoUsd ?? 0);
      return [{ ...notYetKnown, ...entry, costNanoUsd, inputCostNanoUsd }];
    } catch {
      return []; // a torn line: the write never returned, so nobody was told that it is booked
    }
  });
}
