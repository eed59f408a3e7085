import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createId } from '../../../domain/ids.ts';
import { type LedgerEntry, summedCost } from '../../../domain/ledger-entry.ts';
import type { SpendingScope } from '../ports/spending.ts';
import type { Storage } from '../storage.ts';
import { createTestEntry, createTestLine, readSpent, type StoragePair } from './samples.ts';

/** Tests the contract of sums of spending. */
export function testSpending(pair: () => StoragePair): void {
  describe('spending', () => {
    it('sums the spending of a member over all keys and workspaces', async () => {
      const { storage } = pair();
      const memberId = randomUUID();
      const make = (day: number, costNanoUsd: bigint, fields: Partial<LedgerEntry> = {}) =>
        createTestEntry({
          keyHash: randomUUID(),
          workspaceId: randomUUID(),
          memberId,
          createdAtMs: day * 86_400_000,
          costNanoUsd,
          ...fields,
        });
      await storage.ledger.append([make(20_000, 5n), make(20_001, 7n), make(20_001, 11n, { memberId: null })]);
      expect(await readSpent(storage.ledger, { memberId }, 0, 20_001 * 86_400_000)).toEqual([12n, 7n]);
    });

    it('sums the spending of a key, a workspace and all, since several days', async () => {
      const { storage, other } = pair();
      const [workspaceId, keyHash, otherKey] = [randomUUID(), randomUUID(), randomUUID()];
      const [a, b, c] = [20_000, 20_001, 20_005].map((day) => day * 86_400_000) as [number, number, number];
      const make = (createdAtMs: number, costNanoUsd: bigint, fields: Partial<LedgerEntry> = {}) =>
        createTestEntry({ workspaceId, keyHash, createdAtMs, costNanoUsd, ...fields });
      const [before] = await readSpent(storage.ledger, 'everything', 0);
      await storage.ledger.append([
        make(b - 1, 2n ** 60n),
        make(b, 30n, { outcome: 'failed' }),
        make(c, -5n, { memberId: null }),
        make(c, 7n, { keyHash: otherKey }),
      ]);
      await other.ledger.append([make(c + 0.6, 100n, { workspaceId: randomUUID() }), make(c, 0n)]);

      expect(await readSpent(storage.ledger, { keyHash }, 0, a, b, c, c + 86_400_000)).toEqual([
        2n ** 60n + 125n,
        2n ** 60n + 125n,
        125n,
        95n,
        0n,
      ]);
      expect(await readSpent(storage.ledger, { keyHash }, c, b)).toEqual([95n, 125n]);
      expect(await readSpent(storage.ledger, { workspaceId }, 0, c)).toEqual([2n ** 60n + 32n, 2n]);
      expect(await readSpent(storage.ledger, { keyHash: 'nobody\0' }, 0, 1)).toEqual([0n, 0n]);
      expect(await readSpent(storage.ledger, 'everything', 0)).toEqual([before! + 2n ** 60n + 132n]);
      await storage.ledger.append([make(a, -(2n ** 60n))]); // keeps the overall sum small
      expect(await readSpent(storage.ledger, { keyHash }, a, b)).toEqual([125n, 125n]);
    });

    it('sums the spending of many scopes at once, in their order', async () => {
      const { ledger } = pair().storage;
      const workspaceId = randomUUID();
      const keys = Array.from({ length: 1203 }, () => randomUUID());
      const members = [randomUUID(), randomUUID()];
      const day = 20_000 * 86_400_000;
      await ledger.append(
        keys.map((keyHash, at) =>
          createTestEntry({
            workspaceId,
            keyHash,
            memberId: members[at % 2]!,
            createdAtMs: day,
            costNanoUsd: BigInt(at),
          }),
        ),
      );
      await ledger.append([
        createTestEntry({
          workspaceId,
          keyHash: keys[7]!,
          createdAtMs: day + 86_400_000,
          costNanoUsd: 9n,
          isByok: true,
        }),
      ]);
      const scopes: SpendingScope[] = [
        ...keys.toReversed().map((keyHash) => ({ keyHash })),
        { workspaceId },
        { keyHash: 'nobody' },
        { keyHash: keys[7]! },
        { memberId: members[1]! },
      ];
      const spent = await ledger.readSpending(scopes, [0, day + 1 + 86_400_000]);
      expect(spent.slice(0, 1203).map(({ costNanoUsd }) => costNanoUsd)).toEqual(
        keys.map((_, at) => [BigInt(1202 - at), 0n]),
      );
      expect(spent.slice(1203)).toEqual([
        { costNanoUsd: [723_003n, 0n], byokNanoUsd: [9n, 9n] },
        { costNanoUsd: [0n, 0n], byokNanoUsd: [0n, 0n] },
        { costNanoUsd: [7n, 0n], byokNanoUsd: [9n, 9n] },
        { costNanoUsd: [361_201n, 0n], byokNanoUsd: [0n, 0n] },
      ]);
      expect(await ledger.readSpending([], [0])).toEqual([]);
    });

    it('sums the spending of tags since several days, over all processes', async () => {
      const { storage, other } = pair();
      const [team, model] = [`team${createId('')}`.slice(0, 20), randomUUID()];
      const day = (number: number) => number * 86_400_000;
      const make = (number: number, costNanoUsd: bigint, value: string, fields: Partial<LedgerEntry> = {}) =>
        createTestEntry({
          createdAtMs: day(number),
          costNanoUsd,
          model,
          tags: { [team]: value, also: 'x' },
          ...fields,
        });
      const entries = [make(20_000, 5n, 'search'), make(20_001, 7n, 'search', { keyHash: randomUUID() })];
      await storage.ledger.append(entries);
      await other.ledger.append([make(20_001, 11n, 'ads'), make(20_001, 13n, 'search', { isByok: true })]);
      const scopes = ['search', 'ads', 'none'].map((value) => ({ tag: `${team}:${value}` }));
      const since = [0, day(20_001)];
      expect(await storage.ledger.readSpending(scopes, since)).toEqual([
        { costNanoUsd: [12n, 7n], byokNanoUsd: [13n, 13n] },
        { costNanoUsd: [11n, 11n], byokNanoUsd: [0n, 0n] },
        { costNanoUsd: [0n, 0n], byokNanoUsd: [0n, 0n] },
      ]);
      await other.ledger.correct([{ entry: entries[0]!, costNanoUsd: -2n, inputCostNanoUsd: 0n }], 1);
      expect(await readSpent(storage.ledger, scopes[0]!, ...since)).toEqual([10n, 7n]);
    });

    it('rolls up days without changing a sum, also while others record, correct and roll up', async () => {
      const { storage, other } = pair();
      const [workspaceId, memberId] = [randomUUID(), randomUUID()];
      const keys = Array.from({ length: 150 }, () => randomUUID());
      const day = (number: number) => (30_000 + number) * 86_400_000;
      const starts = [0, day(3), day(7), day(10)];
      const [scopes, sinceMs] = [
        [{ workspaceId }, { memberId }, { keyHash: keys[0]! }],
        [...starts, day(11)],
      ];
      const makeBatch = (isByok: boolean) =>
        keys.flatMap((keyHash) =>
          Array.from({ length: 12 }, (_, at) =>
            createTestEntry({
              workspaceId,
              memberId,
              keyHash,
              isByok,
              createdAtMs: day(at) + 5,
              costNanoUsd: 10n ** BigInt(at),
            }),
          ),
        );
      const sums = (times: bigint) => {
        const each = [111_111_111_111n, 111_111_111_000n, 111_110_000_000n, 110_000_000_000n, 100_000_000_000n];
        const of = (count: bigint) => each.map((sum) => sum * times * count);
        return [150n, 150n, 1n].map((count) => ({ costNanoUsd: of(count), byokNanoUsd: of(count) }));
      };
      const fold = (each: Storage) => each.ledger.foldSpending(starts);

      const first = [makeBatch(false), makeBatch(true)];
      for (const batch of first) await storage.ledger.append(batch);
      // Three of the ten days are starts.
      expect(await storage.ledger.foldSpending(starts)).toBeGreaterThanOrEqual(150 * 7);
      expect(await other.ledger.readSpending(scopes, sinceMs)).toEqual(sums(1n));
      await Promise.all([
        ...[storage, other, storage, other].map(fold),
        other.ledger.append(makeBatch(false)),
        storage.ledger.append(makeBatch(true)),
        other.ledger.correct(
          first.flat().map((entry) => ({ entry, costNanoUsd: -entry.costNanoUsd, inputCostNanoUsd: 0n })),
          1,
        ),
        ...[storage, other].map(fold),
      ]);
      expect(await storage.ledger.readSpending(scopes, sinceMs)).toEqual(sums(1n));
      await storage.ledger.foldSpending(starts);
      expect(await other.ledger.foldSpending(starts)).toBe(0);
      expect(await other.ledger.readSpending(scopes, sinceMs)).toEqual(sums(1n));
    });

    it('rolls up a day only after entries of two later days, because the clock may be wrong', async () => {
      const { ledger } = pair().storage;
      const workspaceId = randomUUID();
      const day = (number: number) => (60_000 + number) * 86_400_000;
      const book = (number: number) => createTestEntry({ workspaceId, createdAtMs: day(number), costNanoUsd: 7n });
      await ledger.append([0, 1, 2].map(book));
      expect(await ledger.foldSpending([0, day(2)])).toBe(0);
      expect(await readSpent(ledger, { workspaceId }, day(1))).toEqual([14n]);
      await ledger.append([book(3)]);
      expect(await ledger.foldSpending([0, day(2)])).toBeGreaterThanOrEqual(2);
      expect(await readSpent(ledger, { workspaceId }, 0, day(2), day(3))).toEqual([28n, 14n, 7n]);
    });

    it('has the same totals in all sums after any entries, corrections and rollups', async () => {
      const { ledger } = pair().storage;
      const dayMs = 86_400_000;
      const first = 40_000; // 2079
      const cost = () => fc.bigInt(0n, 10n ** 15n);
      const part = fc.record({ isByok: fc.boolean(), costNanoUsd: cost() });
      const booked = fc.record({
        day: fc.nat(20),
        isByok: fc.boolean(),
        costNanoUsd: cost(),
        lines: fc.option(fc.array(part, { minLength: 2, maxLength: 3 }), { nil: undefined }),
        corrections: fc.array(fc.record({ all: fc.bigInt(-(10n ** 15n), 10n ** 15n), other: cost() }), {
          maxLength: 2,
        }),
        isFolded: fc.boolean(),
      });
      const check = async (many: (typeof booked extends fc.Arbitrary<infer Value> ? Value : never)[]) => {
        const workspaceId = randomUUID();
        const expected = { shared: 0n, byok: 0n, ofLastDays: 0n };
        const lastDay = first + 10;
        const add = (day: number, isByok: boolean, nanoUsd: bigint) => {
          expected[isByok ? 'byok' : 'shared'] += nanoUsd;
          if (!isByok && first + day >= lastDay) expected.ofLastDays += nanoUsd;
        };
        for (const { day, isByok, costNanoUsd, lines: parts, corrections, isFolded } of many) {
          const lines = parts?.map((each) => createTestLine(each));
          const sum = lines?.reduce((total, line) => total + line.costNanoUsd, 0n) ?? costNanoUsd;
          const id = `gen-zzzzz${workspaceId.slice(0, 8)}${createId('')}`;
          const createdAtMs = (first + day) * dayMs + 5;
          await ledger.append([
            createTestEntry({ id, workspaceId, createdAtMs, isByok, costNanoUsd: sum, ...(lines && { lines }) }),
          ]);
          for (const line of lines ?? [{ isByok, costNanoUsd }]) add(day, line.isByok, line.costNanoUsd);
          for (const { all, other } of corrections) {
            const entry = (await ledger.find(workspaceId, id))!;
            const correction = { entry, costNanoUsd: all, inputCostNanoUsd: 0n };
            expect(await ledger.correct([lines ? { ...correction, otherKeysNanoUsd: other } : correction], 1)).toBe(1);
            add(day, isByok, lines ? all - other : all);
            if (lines) add(day, !isByok, other);
          }
          if (isFolded) await ledger.foldSpending([0, (first + 3) * dayMs, lastDay * dayMs]);
        }
        const [spent] = await ledger.readSpending([{ workspaceId }], [0, lastDay * dayMs]);
        expect(spent).toMatchObject({ costNanoUsd: [expected.shared, expected.ofLastDays] });
        expect(spent!.byokNanoUsd[0]).toBe(expected.byok);
        const total = expected.shared + expected.byok;
        expect(await ledger.readTotals(workspaceId)).toMatchObject({ entries: many.length, costNanoUsd: total });
        const activity = await ledger.readActivity({ fromMs: first * dayMs, toMs: (first + 30) * dayMs, workspaceId });
        expect(activity.reduce((sum, row) => sum + row.costNanoUsd, 0n)).toBe(expected.shared);
        expect(activity.reduce((sum, row) => sum + row.byokNanoUsd, 0n)).toBe(expected.byok);
        const listed = await ledger.list({ fromMs: first * dayMs, limit: 10_000 });
        const entries = listed.filter((entry) => entry.workspaceId === workspaceId);
        expect(entries.reduce((sum, entry) => sum + summedCost(entry), 0n)).toBe(total);
      };
      await fc.assert(fc.asyncProperty(fc.array(booked, { minLength: 1, maxLength: 8 }), check), { numRuns: 12 });
    });
  });
}
