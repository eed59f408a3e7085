import { expect, it } from 'vitest';
import type { RecordedEntry } from '../../domain/ledger-entry.ts';
import { createTestEntry } from '../../platform/storage/contract/samples.ts';
import type { NewEntries } from '../../platform/storage/ports/entries.ts';
import { followEntries } from './follow.ts';

/** A ledger whose entries are numbered from 0. Reads at most `step` of them at once. */
function createLedger(entries: RecordedEntry[], step = 2) {
  const reads: string[] = [];
  return {
    reads,
    readEnd: async () => String(entries.length),
    async readNew({ after }: { after: string }): Promise<NewEntries> {
      reads.push(after);
      const from = Number(after);
      const found = entries.slice(from, from + step);
      return {
        entries: found.map((entry, at) => ({ entry, position: String(from + at + 1) })),
        position: String(from + found.length),
        isAtEnd: from + found.length === entries.length,
      };
    },
  };
}

const none = async () => [];

it('reads the next entries only when the last ones are consumed', async () => {
  const ledger = createLedger(Array.from({ length: 7 }, () => createTestEntry()));
  const { signal } = new AbortController();
  const feed = followEntries({ ledger, filters: {}, after: '0', readLast: none, signal });
  await feed.next();
  expect(ledger.reads).toEqual([]);
  const { value } = await feed.next();
  expect(value).toMatchObject({ entries: [{ position: '1' }, { position: '2' }], position: '2' });
  expect(ledger.reads).toEqual(['0']); // a slow reader holds one batch
  await feed.next();
  expect(ledger.reads).toEqual(['0', '2']);
  await feed.return();
});

it('returns an entry that is recorded between its first two reads once', async () => {
  const entries = [createTestEntry(), createTestEntry()];
  const ledger = createLedger(entries);
  const between = createTestEntry();
  const closed = new AbortController();
  const readLast = async () => {
    entries.push(between);
    return entries.slice(1);
  };
  const seen: RecordedEntry[] = [];
  for await (const { entries: found } of followEntries({ ledger, filters: {}, readLast, signal: closed.signal })) {
    seen.push(...found.map(({ entry }) => entry));
    if (seen.length === 2 && entries.length === 3) entries.push(createTestEntry());
    if (seen.length === 3) closed.abort();
  }
  expect(seen).toEqual(entries.slice(1));
});

it('ends while it waits for entries', async () => {
  const closed = new AbortController();
  const ledger = createLedger([]);
  const feed = followEntries({ ledger, filters: {}, readLast: none, signal: closed.signal });
  await feed.next();
  const waiting = feed.next();
  closed.abort();
  expect(await waiting).toEqual({ value: undefined, done: true });
});

it('rejects with the failure of the store', async () => {
  const ledger = { ...createLedger([]), readNew: () => Promise.reject(new Error('down')) };
  const { signal } = new AbortController();
  const feed = followEntries({ ledger, filters: {}, readLast: none, signal });
  await feed.next();
  await expect(feed.next()).rejects.toThrow('down');
});
