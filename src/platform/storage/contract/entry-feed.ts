import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { FEED_START, type LedgerRow } from '../ports/entries.ts';
import type { LedgerStore } from '../ports/ledger.ts';
import { createEntryId, createTestEntry, createTestLine, type StoragePair } from './samples.ts';

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

/** Finds rows in steps until there are this many of a workspace. Rows of other tests are among them. */
async function findRows(ledger: LedgerStore, workspaceId: string, { after, count }: { after: string; count: number }) {
  const found: LedgerRow[] = [];
  const places: { after: string; until: string; count: number }[] = [];
  let position = after;
  while (found.length < count) {
    const next = await ledger.findRows({ after: position, limit: 3 });
    if (next.count === 0) await nextTurn();
    else {
      const rows = await ledger.readRows({ after: position, until: next.position, limit: 100 });
      expect(rows).toHaveLength(next.count);
      expect(rows[0]!.entry.createdAtMs).toBe(next.firstAtMs);
      found.push(...rows.filter(({ entry }) => entry.workspaceId === workspaceId));
      places.push({ after: position, until: next.position, count: next.count });
    }
    position = next.position;
  }
  return { found, places, position };
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

    it('has rows as they were recorded, corrections among them, and the same ones at each read', async () => {
      const { storage, other } = pair();
      const { ledger } = storage;
      const workspaceId = randomUUID();
      const start = await ledger.readEnd();
      const lines = [createTestLine(), createTestLine({ kind: 'turn' })];
      const [first, second] = [createTestEntry({ workspaceId, lines }), createTestEntry({ workspaceId })];
      await ledger.append([first]);
      await other.ledger.correct([{ entry: first, costNanoUsd: -7n, inputCostNanoUsd: -3n }], 5000);
      await other.ledger.append([second]);

      const { found, places, position } = await findRows(ledger, workspaceId, { after: start, count: 3 });
      expect(found.map(({ entry }) => entry.id)).toEqual([first.id, `${first.id}.1`, second.id]);
      expect(found.map(({ correction }) => correction)).toEqual([undefined, { of: first.id, atMs: 5000 }, undefined]);
      expect([found[0]!.entry, found[2]!.entry]).toEqual([first, second]);
      expect(found[1]!.entry).toMatchObject({ workspaceId, costNanoUsd: -7n, inputCostNanoUsd: -3n, inputTokens: 0 });

      await ledger.append([createTestEntry({ workspaceId })]);
      for (const { count, ...place } of places) {
        const again = await other.ledger.readRows({ ...place, limit: 100 });
        expect(again).toHaveLength(count);
        expect(await other.ledger.readRows({ ...place, limit: 1 })).toEqual(again.slice(0, 1));
        const own = again.filter(({ entry }) => entry.workspaceId === workspaceId);
        expect(found).toEqual(expect.arrayContaining(own));
      }
      expect(await ledger.readRows({ after: position, until: position, limit: 1 })).toEqual([]);
      expect((await ledger.findRows({ after: FEED_START, limit: 2 })).count).toBe(2);
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
