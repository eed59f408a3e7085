import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { LedgerEntry } from '../domain/ledger-entry.ts';
import { lockFolder } from '../platform/data-folder/data-folder.ts';
import { createTestEntry } from '../platform/storage/contract/samples.ts';
import { openJournal } from './journal.ts';
import { type OrphanedJournals, nameWorkerJournal, openOrphanedJournals } from './orphaned-journals.ts';

let folder: string;
let opened: OrphanedJournals | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-left-'));
});
afterEach(() => {
  opened?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Creates the journal of a killed worker. */
function leave(slot: number, entry: LedgerEntry): string {
  const name = nameWorkerJournal(slot, 'x');
  openJournal(join(folder, name)).journal.append(entry);
  return name;
}

function open(isInUse: (name: string) => boolean = () => false) {
  const stored: LedgerEntry[] = [];
  const lines: Record<string, unknown>[] = [];
  const interrupted: number[] = [];
  let failure: Error | undefined;
  let failingId: string | undefined;
  opened = openOrphanedJournals({
    folder,
    quarantineFolder: folder,
    store: {
      append: async (entries) => {
        if (failure && entries.some(({ id }) => id === (failingId ?? id))) throw failure;
        stored.push(...entries);
      },
    },
    isInUse,
    log: (message, fields) => void lines.push({ message, ...fields }),
    onOrphaned: ({ interrupted: count }) => interrupted.push(count),
  });
  return {
    left: opened,
    stored,
    lines,
    interrupted,
    /** @param id of the entry that the store rejects; absent: none */
    fail: (error: Error | undefined, id?: string) => {
      failure = error;
      failingId = id;
    },
  };
}

it('stores the journals of workers, and deletes their folders', async () => {
  const entries = [createTestEntry(), createTestEntry()];
  entries.forEach((entry, slot) => void leave(slot, entry));
  const { left, stored } = open();
  await left.store();
  expect(stored).toEqual(entries);
  expect(readdirSync(folder)).toEqual([]);
});

it('records the requests in flight of a killed worker, and reports their number', async () => {
  const entry = createTestEntry();
  openJournal(join(folder, nameWorkerJournal(0, 'x'))).journal.begin(entry);
  const { left, stored, interrupted } = open();
  await left.store();
  expect(stored).toMatchObject([{ id: entry.id, errorType: 'gateway_stopped', estimated: true }]);
  expect(interrupted).toEqual([1]);
});

it('skips the journal of a running worker, and of one that is starting', async () => {
  const [entry, other] = [createTestEntry(), createTestEntry()];
  const living = leave(0, entry);
  const coming = leave(1, other);
  const unlock = lockFolder(join(folder, living))!;
  const { left, stored } = open((name) => name === coming);
  await left.store();
  expect(stored).toEqual([]);

  unlock(); // the worker ended
  await expect.poll(() => stored).toEqual([entry]);
  expect(readdirSync(folder)).toEqual([coming]);
});

it('logs once that the store rejects them, and retries', async () => {
  const entry = createTestEntry();
  const name = leave(0, entry);
  const { left, stored, lines, fail } = open();
  fail(new Error('no store'));
  await expect(left.store()).rejects.toThrow('no store');
  left.schedule();
  await expect.poll(() => lines).toMatchObject([{ message: 'orphaned journals not stored' }]);
  expect(existsSync(join(folder, name))).toBe(true);

  fail(undefined);
  await expect.poll(() => stored).toEqual([entry]);
});

it('stores the other journals if one cannot be stored', async () => {
  const entries = [createTestEntry(), createTestEntry(), createTestEntry()];
  const names = entries.map((entry, slot) => leave(slot, entry));
  const { left, stored, fail } = open();
  fail(new Error('cannot be stored'), entries[1]!.id);
  await expect(left.store()).rejects.toThrow('cannot be stored');
  expect(stored).toEqual([entries[0], entries[2]]);
  expect(readdirSync(folder)).toEqual([names[1]]);
});

it('quarantines rejected entries outside the deleted folder', async () => {
  const entries = [createTestEntry(), createTestEntry()];
  entries.forEach((entry, slot) => void leave(slot, entry));
  const { left, stored, lines, fail } = open();
  fail(new RangeError('too much'), entries[0]!.id);
  await left.store();
  expect(stored).toEqual([entries[1]]);
  expect(readdirSync(folder)).toEqual(['set-aside.jsonl']);
  expect(lines).toMatchObject([{ message: 'ledger entry quarantined', generation_id: entries[0]!.id }]);
});

it('does nothing without journals', async () => {
  rmSync(folder, { recursive: true });
  await open().left.store();
});
