import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { LedgerEntry } from '../domain/ledger-entry.ts';
import { takeFolder } from '../platform/data-folder/data-folder.ts';
import { makeEntry } from '../platform/storage/ledger-contract.ts';
import { openJournal } from './journal.ts';
import { type LeftJournals, nameWorkerJournal, openLeftJournals } from './left-journals.ts';

let folder: string;
let opened: LeftJournals | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-left-'));
});
afterEach(() => {
  opened?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A worker's journal as a kill leaves it. */
function leave(slot: number, entry: LedgerEntry): string {
  const name = nameWorkerJournal(slot, 'x');
  openJournal(join(folder, name)).journal.append(entry);
  return name;
}

function open(isInUse: (name: string) => boolean = () => false) {
  const stored: LedgerEntry[] = [];
  const troubles: unknown[] = [];
  const cutOff: number[] = [];
  const setAside: string[] = [];
  let failure: Error | undefined;
  let failingId: string | undefined;
  opened = openLeftJournals({
    ...{ folder, asideFolder: folder },
    store: {
      append: async (entries) => {
        if (failure && entries.some(({ id }) => id === (failingId ?? id))) throw failure;
        stored.push(...entries);
      },
    },
    isInUse,
    onTrouble: (error) => troubles.push(error),
    onSetAside: (message) => setAside.push(message),
    onLeft: ({ cutOff: count }) => cutOff.push(count),
  });
  return {
    left: opened,
    stored,
    troubles,
    cutOff,
    setAside,
    /** @param id of the entry that the store does not take; absent: none at all */
    fail: (error: Error | undefined, id?: string) => {
      failure = error;
      failingId = id;
    },
  };
}

it('stores what workers left, and removes their folders', async () => {
  const entries = [makeEntry(), makeEntry()];
  entries.forEach((entry, slot) => void leave(slot, entry));
  const { left, stored } = open();
  await left.store();
  expect(stored).toEqual(entries);
  expect(readdirSync(folder)).toEqual([]);
});

it('books what a worker had under way when it died, and tells how much that was', async () => {
  const entry = makeEntry();
  openJournal(join(folder, nameWorkerJournal(0, 'x'))).journal.begin(entry);
  const { left, stored, cutOff } = open();
  await left.store();
  expect(stored).toMatchObject([{ id: entry.id, errorType: 'gateway_stopped', estimated: true }]);
  expect(cutOff).toEqual([1]);
});

it('leaves alone the journal of a worker that lives, and of one that is about to', async () => {
  const [entry, other] = [makeEntry(), makeEntry()];
  const living = leave(0, entry);
  const coming = leave(1, other);
  const giveBack = takeFolder(join(folder, living))!;
  const { left, stored } = open((name) => name === coming);
  await left.store();
  expect(stored).toEqual([]);

  giveBack(); // the worker ended
  await expect.poll(() => stored, { timeout: 5000 }).toEqual([entry]);
  expect(readdirSync(folder)).toEqual([coming]);
});

it('tells once that the store does not take them, and tries again', async () => {
  const entry = makeEntry();
  const name = leave(0, entry);
  const { left, stored, troubles, fail } = open();
  fail(new Error('no store'));
  await expect(left.store()).rejects.toThrow('no store');
  left.schedule();
  await expect.poll(() => troubles).toHaveLength(1);
  expect(existsSync(join(folder, name))).toBe(true);

  fail(undefined);
  await expect.poll(() => stored, { timeout: 5000 }).toEqual([entry]);
});

it('stores what others left, though one journal cannot be stored', async () => {
  const entries = [makeEntry(), makeEntry(), makeEntry()];
  const names = entries.map((entry, slot) => leave(slot, entry));
  const { left, stored, fail } = open();
  fail(new Error('cannot be stored'), entries[1]!.id);
  await expect(left.store()).rejects.toThrow('cannot be stored');
  expect(stored).toEqual([entries[0], entries[2]]);
  expect(readdirSync(folder)).toEqual([names[1]]);
});

it('sets aside what the store never takes, outside the folder that goes', async () => {
  const entries = [makeEntry(), makeEntry()];
  entries.forEach((entry, slot) => void leave(slot, entry));
  const { left, stored, setAside, fail } = open();
  fail(new RangeError('too much'), entries[0]!.id);
  await left.store();
  expect(stored).toEqual([entries[1]]);
  expect(readdirSync(folder)).toEqual(['set-aside.jsonl']);
  expect(setAside).toEqual([expect.stringContaining(entries[0]!.id)]);
});

it('has nothing to do where there is no journal', async () => {
  rmSync(folder, { recursive: true });
  await open().left.store();
});
