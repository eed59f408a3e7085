import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { LedgerEntry, RecordedEntry } from '../../../domain/ledger-entry.ts';
import { createTestEntry, createTestLine, readSpent, readByokSpent, type StoragePair, testDays } from './samples.ts';

/** Tests the contract of corrections of ledger entries. */
export function testCorrections(pair: () => StoragePair): void {
  describe('corrections', () => {
    it('records the part of a correction for lines of other keys in their sum, with the rest or not at all', async () => {
      const { ledger } = pair().storage;
      const workspaceId = randomUUID();
      const lines = [createTestLine({ isByok: true, costNanoUsd: 40n }), createTestLine({ costNanoUsd: 60n })];
      const entry = createTestEntry({ workspaceId, costNanoUsd: 100n, lines });
      await ledger.append([entry]);
      const spent = async () => [
        ...(await readSpent(ledger, { workspaceId }, 0)),
        ...(await readByokSpent(ledger, { workspaceId }, 0)),
      ];
      const correction = { entry, costNanoUsd: 7n, inputCostNanoUsd: 1n, otherKeysNanoUsd: 10n };
      expect(await ledger.correct([correction], 1)).toBe(1);
      expect(await spent()).toEqual([57n, 50n]);
      expect(await ledger.readActivity({ ...testDays, workspaceId })).toMatchObject([
        { requests: 1, costNanoUsd: 57n, byokNanoUsd: 50n, inputTokens: BigInt(entry.inputTokens) },
      ]);
      const { otherKeysNanoUsd, ...plain } = correction;
      expect(await ledger.correct([plain], 2)).toBe(0);
      expect(await ledger.correct([{ ...plain, otherKeysNanoUsd }], 2)).toBe(0);
      const corrected = (await ledger.find(workspaceId, entry.id))!;
      expect(corrected.correction).toEqual({ costNanoUsd: 7n, inputCostNanoUsd: 1n, otherKeysNanoUsd, count: 2 });
      expect(
        await ledger.correct([{ ...correction, entry: corrected, costNanoUsd: 0n, otherKeysNanoUsd: -10n }], 3),
      ).toBe(1);
      expect(await spent()).toEqual([67n, 40n]);
      expect(await ledger.readTotals(workspaceId)).toMatchObject({ entries: 1, costNanoUsd: 107n });
    });

    it('records corrections on the day of their entry, and counts no response twice', async () => {
      const { ledger } = pair().storage;
      const [workspaceId, keyHash, model] = [randomUUID(), randomUUID(), randomUUID()];
      const sinceMs = 2_200_000_000_000;
      const make = (fields: Partial<LedgerEntry>, id: number) =>
        createTestEntry({
          id: `gen-zzzzz${model.slice(0, 8)}${id}`,
          createdAtMs: sinceMs,
          workspaceId,
          keyHash,
          model,
          task: 'code',
          special: { webSearches: 2 },
          ...fields,
        });
      const plain = make({}, 1);
      const own = make({ isByok: true, costNanoUsd: 5n }, 2);
      const unpriced = make({ priced: false, costNanoUsd: 0n, inputCostNanoUsd: 0n }, 3);
      await ledger.append([plain, own, unpriced]);
      const all = { limit: 10, fromMs: sinceMs, toMs: sinceMs + 1 };
      const read = () => ledger.list({ ...all, model });
      expect(await read()).toEqual([plain, own, unpriced]);

      const correct = (entry: RecordedEntry, costNanoUsd: bigint, inputCostNanoUsd = 0n) => ({
        entry,
        costNanoUsd,
        inputCostNanoUsd,
      });
      expect(await ledger.correct([correct(plain, -345n, 7n), correct(own, 10n), correct(unpriced, 1n)], 99)).toBe(3);
      const corrected = await read();
      expect(corrected).toEqual([
        { ...plain, correction: { costNanoUsd: -345n, inputCostNanoUsd: 7n, count: 1 } },
        { ...own, correction: { costNanoUsd: 10n, inputCostNanoUsd: 0n, count: 1 } },
        { ...unpriced, correction: { costNanoUsd: 1n, inputCostNanoUsd: 0n, count: 1 } },
      ]);
      expect(await ledger.correct([correct(corrected[0]!, 5n)], 100)).toBe(1);

      const found = { ...plain, correction: { costNanoUsd: -340n, inputCostNanoUsd: 7n, count: 2 } };
      expect(await ledger.find(workspaceId, plain.id)).toEqual(found);
      expect(await ledger.find(undefined, plain.id)).toEqual(found);
      expect(await ledger.find(workspaceId, `${plain.id}.1`)).toBeUndefined();
      expect(await ledger.readTotals(workspaceId)).toEqual({
        entries: 3,
        inputTokens: 36n,
        outputTokens: 27n,
        costNanoUsd: 12_345n - 340n + 15n + 1n,
      });
      expect(await readSpent(ledger, { keyHash }, 0)).toEqual([12_345n - 340n + 1n]);
      expect(await readByokSpent(ledger, { keyHash }, 0)).toEqual([15n]);
      expect(await ledger.readActivity({ fromMs: sinceMs, toMs: sinceMs + 1, keyHash })).toMatchObject([
        { requests: 3, inputTokens: 36n, costNanoUsd: 12_345n - 340n + 1n, byokNanoUsd: 15n },
      ]);
      // The sums of responses exclude a response without a price, before and after.
      expect((await ledger.readTraffic(sinceMs)).filter((row) => row.model === model)).toMatchObject([
        { answers: 2, inputTokens: 24n, costNanoUsd: 12_345n - 340n + 15n, inputCostNanoUsd: 2n * 2_345n + 7n },
      ]);
    });

    it('records one of two corrections that were made from the same state, whichever process makes them', async () => {
      const { storage, other } = pair();
      const entries = Array.from({ length: 20 }, () =>
        createTestEntry({ workspaceId: randomUUID(), costNanoUsd: 100n }),
      );
      await storage.ledger.append(entries);
      const corrections = entries.map((entry) => ({ entry, costNanoUsd: 1n, inputCostNanoUsd: 0n }));
      const booked = await Promise.all([
        storage.ledger.correct(corrections, 1),
        other.ledger.correct(corrections.toReversed(), 2),
        storage.ledger.correct(corrections.slice(5, 9), 3),
      ]);
      expect(booked.reduce((sum, count) => sum + count)).toBe(20);
      for (const { workspaceId, id } of entries) {
        expect(await other.ledger.find(workspaceId, id)).toMatchObject({ correction: { costNanoUsd: 1n, count: 1 } });
        expect(await readSpent(other.ledger, { workspaceId }, 0)).toEqual([101n]);
      }
    });

    it('counts the corrections that reduced a cost', async () => {
      const { storage, other } = pair();
      const before = await other.ledger.readReductions();
      const entries = [createTestEntry(), createTestEntry()];
      await storage.ledger.append(entries);
      const correct = (...sums: bigint[]) =>
        storage.ledger.correct(
          sums.map((costNanoUsd, at) => ({ entry: entries[at]!, costNanoUsd, inputCostNanoUsd: 0n })),
          1,
        );
      await correct(1n, 0n);
      expect(await other.ledger.readReductions()).toBe(before);
      entries[1]!.id = createTestEntry().id;
      await storage.ledger.append([entries[1]!]);
      await correct(-1n, -1n);
      expect(await other.ledger.readReductions()).toBe(before + 1);
    });
  });
}
