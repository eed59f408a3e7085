import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { LedgerStore } from '../ports/ledger.ts';
import { createEntryId, createTestEntry, type StoragePair } from './samples.ts';

/**
 * Reads new entries in steps until there are this many. With PostgreSQL, they appear when all earlier transactions have
 * ended.
 */
async function readMany(
  ledger: LedgerStore,
  workspaceId: string,
  { after, count, limit = 100 }: { after: string; count: number; limit?: number },
) {
  const found: Awaited<ReturnType<LedgerStore['readNew']>>['entries'] = [];
  let position = after;
  while (found.length < count) {
    const read = await ledger.readNew({ filters: { workspaceId }, after: position, limit });
    found.push(...read.entries);
    position = read.position;
    if (read.isAtEnd) await nextTurn();
  }
  return { ids: found.map(({ entry }) => entry.id), found, position };
}

/** Tests the contract of the feed of ledger entries. */
export function testEntryFeed(pair: () => StoragePair): void {
  describe('the feed of ledger entries', () => {
    it('has entries in the order in which any process records them, whatever their time', async () => {
      const { storage, other } = pair();
      const workspaceId = randomUUID();
      await storage.ledger.append([createTestEntry()]);
      const start = await storage.ledger.readEnd();
      const late = createTestEntry({ workspaceId, createdAtMs: 1_000_000 }); // a request of a long time
      const entries = [createTestEntry({ workspaceId }), late, createTestEntry({ workspaceId })];
      await storage.ledger.append([entries[0]!]);
      await other.ledger.append([entries[1]!]);
      await storage.ledger.append([createTestEntry(), entries[2]!]);

      const { ids, position } = await readMany(storage.ledger, workspaceId, { after: start, count: 3 });
      expect(ids).toEqual(entries.map(({ id }) => id));
      expect((await readMany(other.ledger, workspaceId, { after: start, count: 3, limit: 1 })).ids).toEqual(ids);
      const more = await storage.ledger.readNew({ filters: { workspaceId }, after: position, limit: 100 });
      expect(more.entries).toEqual([]);
    });

    it('continues after each entry, and moves past entries that do not match', async () => {
      const { ledger } = pair().storage;
      const workspaceId = randomUUID();
      const start = await ledger.readEnd();
      const entries = Array.from({ length: 5 }, () => createTestEntry({ workspaceId }));
      for (const entry of entries) await ledger.append([entry, createTestEntry()]);
      const { found, position } = await readMany(ledger, workspaceId, { after: start, count: 5 });
      expect(found.map(({ entry }) => entry)).toEqual(entries);
      for (const [at, { position: after }] of found.slice(0, -1).entries()) {
        const { ids } = await readMany(ledger, workspaceId, { after, count: 4 - at });
        expect(ids).toEqual(entries.slice(at + 1).map(({ id }) => id));
      }
      const none = await ledger.readNew({ filters: { workspaceId: randomUUID() }, after: start, limit: 100 });
      expect(none.entries).toEqual([]);
      const rest = await ledger.readNew({ filters: { workspaceId }, after: none.position, limit: 100 });
      expect(rest.entries).toEqual([]);
      expect(position).not.toBe(start);
    });

    it('has corrected entries as they are now, and no corrections', async () => {
      const { ledger } = pair().storage;
      const workspaceId = randomUUID();
      const start = await ledger.readEnd();
      const entry = createTestEntry({ workspaceId });
      await ledger.append([entry]);
      await ledger.correct([{ entry, costNanoUsd: 1n, inputCostNanoUsd: 0n }], 1);
      const { found } = await readMany(ledger, workspaceId, { after: start, count: 1 });
      expect(found.map((each) => each.entry)).toEqual([
        { ...entry, correction: { costNanoUsd: 1n, inputCostNanoUsd: 0n, count: 1 } },
      ]);
    });

    it('reads a bounded number of rows at a time', async () => {
      const { ledger } = pair().storage;
      const workspaceId = randomUUID();
      const start = await ledger.readEnd();
      const last = createTestEntry({ workspaceId });
      await ledger.append(Array.from({ length: 2_500 }, () => createTestEntry()));
      await ledger.append([last]);
      await readMany(ledger, workspaceId, { after: start, count: 1 }); // all have appeared
      const first = await ledger.readNew({ filters: { workspaceId }, after: start, limit: 100 });
      expect(first).toMatchObject({ entries: [], isAtEnd: false });
      expect((await readMany(ledger, workspaceId, { after: first.position, count: 1 })).ids).toEqual([last.id]);
    });

    it('misses and repeats no entry while several processes record some', async () => {
      const { storage, other } = pair();
      const workspaceId = randomUUID();
      const start = await storage.ledger.readEnd();
      const all = Array.from({ length: 300 }, (_, at) =>
        createTestEntry({ workspaceId, id: createEntryId(1_790_000_000_000 + ((at * 37) % 300)) }),
      );
      const record = async (ledger: LedgerStore, from: number) => {
        for (let at = from; at < all.length; at += 20) await ledger.append(all.slice(at, at + 10));
      };
      const [{ ids: seen, position }] = await Promise.all([
        readMany(other.ledger, workspaceId, { after: start, count: all.length, limit: 7 }),
        record(storage.ledger, 0),
        record(other.ledger, 10),
      ]);
      const more = await other.ledger.readNew({ filters: { workspaceId }, after: position, limit: 100 });
      expect(more.entries).toEqual([]);
      expect(seen.toSorted()).toEqual(all.map(({ id }) => id).toSorted());
    });
  });
}
