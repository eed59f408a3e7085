import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { LedgerEntry } from '../../../domain/ledger-entry.ts';
import type { ArchiveRecord, RowPosition } from '../ports/archives.ts';
import type { Storage } from '../storage.ts';
import { createTestEntry, createTestLine, readSpent, type StoragePair } from './samples.ts';

const DAY_MS = 86_400_000;
const files = { jsonl: { bytes: 1, sha256: 'a' }, parquet: { bytes: 2, sha256: 'b' } };

/** Tests the contract of archived days. Each test has days of its own. */
export function testArchives(pair: () => StoragePair): void {
  describe('archives', () => {
    it('keep all sums while rows are deleted, whichever process deletes them', async () => {
      const { storage, other } = pair();
      const day = 18_000;
      const { workspaceId, entries } = await appendDay(storage, day);
      const corrected = { entry: entries[0]!, costNanoUsd: -5n, inputCostNanoUsd: 0n };
      expect(await storage.ledger.correct([corrected], 1)).toBe(1);
      await storage.ledger.append([createTestEntry()]); // the newest row stays
      const unit = { day, workspaceId };
      const range = { fromDay: day, toDay: day + 1 };
      expect(await other.archives.listUnits(range)).toEqual([unit]);
      expect(await other.archives.listUnarchived(day + 1)).toContainEqual(unit);
      const before = await readSums(storage, workspaceId, day);

      const [begun] = await Promise.all([storage, other, storage].map(({ archives }) => archives.begin(unit)));
      expect(begun).toMatchObject({ ...unit, part: 1, state: 'begun', rows: entries.length + 1, files: null });
      expect(await other.archives.listUnarchived(day + 1)).not.toContainEqual(unit);
      expect(await storage.archives.deleteRows(begun!, [], 10)).toBe(0);
      await storage.archives.saveFiles(begun!, files);
      await storage.archives.saveFiles(begun!, { ...files, jsonl: files.parquet });
      expect(await other.archives.listUnfinished()).toContainEqual({ ...begun, state: 'written', files });
      expect(await storage.ledger.verifyUsage(day * DAY_MS, false)).toBe(0);

      for (let deleted = 1; deleted > 0; ) {
        const some = await Promise.all([storage, other].map(({ archives }) => archives.deleteRows(begun!, [], 7)));
        deleted = some[0]! + some[1]!;
        expect(await readSums(other, workspaceId, day)).toEqual(before);
        expect(await storage.ledger.verifyUsage(day * DAY_MS, true)).toBe(0);
      }
      expect(await other.archives.listArchives(range)).toEqual([
        {
          ...begun,
          state: 'deleted',
          files,
          deleted: { ...before.totals, rows: entries.length + 1 },
        },
      ]);
      expect(await storage.ledger.list({ fromMs: day * DAY_MS, toMs: (day + 1) * DAY_MS, limit: 9 })).toEqual([]);
      expect(await readSums(other, workspaceId, day)).toEqual(before);
      expect(await storage.archives.listUnfinished()).not.toContainEqual(expect.objectContaining(unit));
    });

    it('compare the sums of other workspaces of the day with the ledger, and repair them', async () => {
      const { storage } = pair();
      const day = 18_010;
      const [one, two] = [await appendDay(storage, day), await appendDay(storage, day)];
      const begun = await storage.archives.begin({ day, workspaceId: one.workspaceId });
      await storage.archives.saveFiles(begun, files);
      await deleteAll(storage, begun);
      expect(await storage.ledger.verifyUsage(day * DAY_MS, false)).toBe(0);
      const sums = await readSums(storage, two.workspaceId, day);
      expect(sums.usage.requests).toBe(two.entries.length);
      expect(await storage.ledger.verifyUsage(day * DAY_MS, true)).toBe(0);
      expect(await readSums(storage, two.workspaceId, day)).toEqual(sums);
    });

    it('keep rows that come after a place of the feed', async () => {
      const { storage, other } = pair();
      const day = 18_040;
      const start = await storage.ledger.readEnd();
      const { workspaceId, entries } = await appendDay(storage, day);
      const begun = await storage.archives.begin({ day, workspaceId });
      await storage.archives.saveFiles(begun, files);
      let end = start;
      for (let count = 0; count < entries.length + 1; ) {
        const found = await storage.ledger.findRows({ after: end, limit: 3 });
        expect(await other.archives.deleteRows(begun, [start, found.position], 100)).toBe(0);
        end = found.position;
        count += found.count;
        if (found.count === 0) await nextTurn(); // PostgreSQL has earlier transactions
      }
      expect(await other.archives.deleteRows(begun, [end], 4)).toBe(4);
      expect(await other.archives.deleteRows(begun, [end, start], 100)).toBe(0);
      expect(await storage.archives.deleteRows(begun, [end], 100)).toBe(entries.length - 4);
    });

    it('have every row with its lines, in pages and in a range of time', async () => {
      const { storage, other } = pair();
      const day = 18_020;
      const { workspaceId, entries } = await appendDay(storage, day);
      await storage.ledger.correct([{ entry: entries[3]!, costNanoUsd: 7n, inputCostNanoUsd: 2n }], 99);
      const unit = { day, workspaceId };
      const rows = [];
      for (let after: RowPosition | undefined; ; ) {
        const page = await other.archives.readRows({ ...unit, after, limit: 3 });
        if (page.length === 0) break;
        rows.push(...page);
        const { id, created_at_ms } = page.at(-1)!.values;
        after = { id: id as string, createdAtMs: Number(created_at_ms) };
      }
      const sorted = entries.toSorted((a, b) => a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1));
      const ids = sorted.flatMap(({ id }) => (id === entries[3]!.id ? [id, `${id}.1`] : [id]));
      expect(rows.map(({ values }) => values['id'])).toEqual(ids);
      const found = rows.find(({ values }) => values['id'] === entries[1]!.id)!;
      expect(found.values).toMatchObject({ cost_nano_usd: 67n * 2n, tags: '{"team":"search"}', is_byok: 0n });
      expect(found.lines).toMatchObject([{ kind: 'attempt', cost_nano_usd: 67n }, { kind: 'tool' }]);
      expect(found.lines[0]).not.toHaveProperty('entry_id');
      expect(rows.find(({ values }) => values['corrects'] !== null)).toMatchObject({
        values: { corrects: entries[3]!.id, cost_nano_usd: 7n, input_cost_nano_usd: 2n, corrected_at_ms: 99n },
      });
      const { createdAtMs } = entries[3]!;
      const some = await storage.archives.readRows({ ...unit, fromMs: createdAtMs, toMs: createdAtMs + 1, limit: 99 });
      expect(some.map(({ values }) => values['created_at_ms'])).toContainEqual(BigInt(createdAtMs));
      expect(new Set(some.map(({ values }) => values['created_at_ms'])).size).toBe(1);
    });

    it('record no correction, and no entry twice, after they have begun', async () => {
      const { storage, other } = pair();
      const day = 18_030;
      const { workspaceId, entries } = await appendDay(storage, day);
      const unit = { day, workspaceId };
      const begun = await storage.archives.begin(unit);
      const correction = { entry: entries[0]!, costNanoUsd: 5n, inputCostNanoUsd: 0n };
      expect(await other.ledger.correct([correction], 1)).toBe(0);
      const late = [
        createTestEntry({ workspaceId, createdAtMs: day * DAY_MS + 5, costNanoUsd: 2n ** 60n }),
        createTestEntry({ workspaceId, createdAtMs: day * DAY_MS + 6, lines: [createTestLine(), createTestLine()] }),
      ];
      const before = await readSums(storage, workspaceId, day);
      const next = createTestEntry({ workspaceId, createdAtMs: (day + 1) * DAY_MS });
      await storage.ledger.append([...late, entries[2]!, next]);
      await other.ledger.append([entries[2]!, late[0]!]);
      expect(await other.ledger.find(workspaceId, next.id)).toEqual(next);
      expect(await readSums(storage, workspaceId, day)).toEqual({
        ...before,
        totals: expect.objectContaining({ entries: before.totals.entries + 1 }),
        spent: [before.spent[0]! + next.costNanoUsd],
      });
      expect(await other.archives.listLateUnits()).toContainEqual(unit);
      expect(await storage.archives.admitLate(unit, 9)).toBeUndefined();

      await storage.archives.saveFiles(begun, files);
      await deleteAll(storage, begun);
      const known = [entries[1]!.id, entries[2]!.id];
      expect(await other.archives.findLate([...known, late[0]!.id])).toEqual(
        expect.arrayContaining([entries[2]!.id, late[0]!.id]),
      );
      await other.archives.dropLate(known);
      const second = await storage.archives.admitLate(unit, 9);
      expect(second).toMatchObject({ ...unit, part: 2, state: 'begun', rows: 2 });
      expect(await storage.archives.admitLate(unit, 9)).toBeUndefined();
      expect(await storage.archives.begin(unit)).toEqual(second);
      for (const entry of late) expect(await other.ledger.find(workspaceId, entry.id)).toEqual(entry);
      const after = await readSums(storage, workspaceId, day);
      expect(after.usage.requests).toBe(before.usage.requests + 2);
      expect(after.totals.entries).toBe(before.totals.entries + 3);
      expect(await storage.ledger.verifyUsage(day * DAY_MS, false)).toBe(0);
      expect(await storage.archives.listLateUnits()).not.toContainEqual(unit);
    });
  });
}

/** Records entries of a new workspace on a day, and one of the next week, which stays the newest row. */
async function appendDay({ ledger }: Storage, day: number): Promise<{ workspaceId: string; entries: LedgerEntry[] }> {
  const workspaceId = randomUUID();
  const entries = Array.from({ length: 10 }, (_, index) =>
    createTestEntry({
      workspaceId,
      createdAtMs: day * DAY_MS + (index >> 1) * 17_000_000,
      ...(index === 1 && { costNanoUsd: 67n * 2n, tags: { team: 'search' } }),
      ...(index === 1 && { lines: [createTestLine(), createTestLine({ kind: 'tool' })] }),
    }),
  );
  await ledger.append(entries);
  await ledger.append([createTestEntry({ createdAtMs: (day + 7) * DAY_MS })]);
  return { workspaceId, entries };
}

async function deleteAll({ archives }: Storage, archive: ArchiveRecord): Promise<void> {
  while ((await archives.deleteRows(archive, [], 100)) > 0);
}

async function readSums({ ledger }: Storage, workspaceId: string, day: number) {
  const [usage] = await ledger.readUsage({
    boundsMs: [day * DAY_MS, (day + 1) * DAY_MS],
    groupBy: [],
    only: { workspace: workspaceId },
    histograms: true,
  });
  const totals = await ledger.readTotals(workspaceId);
  return { usage: usage!, totals, spent: await readSpent(ledger, { workspaceId }, 0) };
}
