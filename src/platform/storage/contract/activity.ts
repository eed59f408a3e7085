import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createId } from '../../../domain/ids.ts';
import type { LedgerEntry } from '../../../domain/ledger-entry.ts';
import type { ActivityGroup } from '../ports/activity.ts';
import { createTestEntry, readSpent, readByokSpent, type StoragePair, testDays } from './samples.ts';

/** Tests the contract of statistics of requests. */
export function testActivity(pair: () => StoragePair): void {
  describe('activity', () => {
    it('keeps money and tokens above 2^53, and sums them exactly', async () => {
      const { ledger } = pair().storage;
      const workspaceId = randomUUID();
      const large = 2n ** 61n + 1n;
      const inputTokens = Number.MAX_SAFE_INTEGER;
      const entries = [1, 2, 3].map(() =>
        createTestEntry({ workspaceId, costNanoUsd: large, inputTokens, outputTokens: 1 }),
      );
      await ledger.append(entries);

      expect((await ledger.find(workspaceId, entries[0]!.id))?.costNanoUsd).toBe(large);
      expect(await ledger.readTotals(workspaceId)).toEqual({
        entries: 3,
        inputTokens: 3n * BigInt(inputTokens),
        outputTokens: 3n,
        costNanoUsd: 3n * large,
      });
      await ledger.append([createTestEntry({ workspaceId, costNanoUsd: -3n * large })]); // keeps the overall sum small
    });

    it('sums over one workspace, or over all', async () => {
      const { ledger } = pair().storage;
      const before = await ledger.readTotals();
      const [a, b] = [randomUUID(), randomUUID()];
      await ledger.append([
        createTestEntry({ workspaceId: a }),
        createTestEntry({ workspaceId: a }),
        createTestEntry({ workspaceId: b }),
      ]);

      const one = { inputTokens: 12n, outputTokens: 9n, costNanoUsd: 12_345n };
      expect(await ledger.readTotals(b)).toEqual({ entries: 1, ...one });
      expect(await ledger.readTotals(randomUUID())).toMatchObject({ entries: 0, costNanoUsd: 0n });
      expect(await ledger.readTotals()).toEqual({
        entries: before.entries + 3,
        inputTokens: before.inputTokens + 3n * one.inputTokens,
        outputTokens: before.outputTokens + 3n * one.outputTokens,
        costNanoUsd: before.costNanoUsd + 3n * one.costNanoUsd,
      });
    });

    it('sums responses by task and model since a time', async () => {
      const { ledger } = pair().storage;
      const sinceMs = 2_000_000_000_000;
      const [small, large, unknown] = ['small', 'large', 'unknown'].map((name) => `${randomUUID()}/${name}`);
      const make = (model: string | null, task: string | null, fields: Partial<LedgerEntry> = {}) =>
        // Ids sort by time. These ids are among the latest.
        createTestEntry({ id: `gen-zzz${createId('')}`, createdAtMs: sinceMs, model, task, ...fields });
      await ledger.append([
        make(small!, 'code'),
        make(small!, 'code', { outcome: 'incomplete', costNanoUsd: 5n, inputCostNanoUsd: 2n, inputTokens: 8 }),
        make(small!, null, { createdAtMs: sinceMs + 1e9, workspaceId: 'another' }),
        make(large!, 'code', { costNanoUsd: 2n ** 61n, inputTokens: Number.MAX_SAFE_INTEGER }),
        // None of these is a priced response since that time.
        make(small!, 'code', { createdAtMs: sinceMs - 1 }),
        make(small!, 'code', { outcome: 'failed' }),
        make(small!, 'code', { outcome: 'cancelled' }),
        make(unknown!, 'code', { priced: false, costNanoUsd: 0n, inputCostNanoUsd: 0n }),
        make(null, small!),
      ]);

      const rows = await ledger.readTraffic(sinceMs);
      expect(rows.filter(({ task }) => task === small)).toEqual([]);
      const ours = rows.filter(({ model }) => [small, large, unknown].includes(model));
      const base = { task: 'code', model: small, answers: 1, costNanoUsd: 12_345n, inputCostNanoUsd: 2_345n };
      expect(ours).toHaveLength(3);
      expect(ours).toEqual(
        expect.arrayContaining([
          { ...base, answers: 2, costNanoUsd: 12_350n, inputCostNanoUsd: 2_347n, inputTokens: 20n },
          { ...base, task: null, inputTokens: 12n },
          { ...base, model: large, costNanoUsd: 2n ** 61n, inputTokens: BigInt(Number.MAX_SAFE_INTEGER) },
        ]),
      );
      expect(await ledger.readTraffic(9e15)).toEqual([]);
    });

    it('sums each response once, however many there are in one millisecond', async () => {
      const { ledger } = pair().storage;
      const sinceMs = 2_100_000_000_000;
      const model = `${randomUUID()}/busy`;
      // In thousands: slices end within and between them.
      const times = [0, 1, 1, 2, 5, 5, 5, 900].map((ms) => sinceMs + ms);
      const idOf = (at: number) => `gen-zz${String(at).padStart(8, '0')}${model.slice(0, 8)}`; // ids sort by time
      const entries = times.flatMap((createdAtMs, slot) =>
        Array.from({ length: 1000 }, (_, at) =>
          createTestEntry({ id: idOf(slot * 1000 + at), createdAtMs, model, task: 'code' }),
        ),
      );
      await ledger.append(entries);

      const count = BigInt(entries.length);
      expect((await ledger.readTraffic(sinceMs)).filter((row) => row.model === model)).toEqual([
        {
          task: 'code',
          model,
          answers: entries.length,
          costNanoUsd: count * 12_345n,
          inputCostNanoUsd: count * 2_345n,
          inputTokens: count * 12n,
        },
      ]);
      const last = (await ledger.readTraffic(sinceMs + 900)).filter((row) => row.model === model);
      expect(last).toMatchObject([{ answers: 1000 }]);
    });

    it('sums requests by day, model and provider, of a workspace, a key, a member or all', async () => {
      const { ledger } = pair().storage;
      const dayMs = 86_400_000;
      const day = 30_000; // 2052
      const [workspaceId, keyHash, memberId, model] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
      const endUser = randomUUID();
      let count = 0;
      const make = (createdAtMs: number, fields: Partial<LedgerEntry> = {}) =>
        // Ids sort by time. These ids are among the latest.
        createTestEntry({ id: `gen-zzz${model.slice(0, 8)}${count++}`, workspaceId, model, createdAtMs, ...fields });
      await ledger.append([
        make(day * dayMs),
        make((day + 1) * dayMs - 1, { keyHash, costNanoUsd: 5n, outcome: 'cancelled' }),
        make(day * dayMs + 5, { provider: 'Bolt', memberId }),
        make(day * dayMs + 5, { workspaceId: 'another', endUser }),
        make(day * dayMs - 1),
        make((day + 1) * dayMs),
        make(day * dayMs, { model: null, requestedModel: model, provider: null }),
      ]);
      const ask = async (more: object) =>
        (await ledger.readActivity({ fromMs: day * dayMs, toMs: (day + 1) * dayMs, ...more }))
          .filter((row) => row.model === model)
          .sort((a, b) => (a.provider + a.group < b.provider + b.group ? -1 : 1));

      const money = { costNanoUsd: 12_345n, byokNanoUsd: 0n };
      const one = { day, group: null, model, provider: 'Acme', requests: 1, ...money };
      const tokens = (requests: bigint) => ({
        inputTokens: requests * 12n,
        outputTokens: requests * 9n,
        reasoningTokens: requests * 4n,
      });
      const bolt = { ...one, provider: 'Bolt', ...tokens(1n) };
      expect(await ask({})).toEqual([{ ...one, requests: 3, costNanoUsd: 24_695n, ...tokens(3n) }, bolt]);
      expect(await ask({ workspaceId })).toEqual([{ ...one, requests: 2, costNanoUsd: 12_350n, ...tokens(2n) }, bolt]);
      expect(await ask({ keyHash })).toEqual([{ ...one, costNanoUsd: 5n, ...tokens(1n) }]);
      expect(await ask({ memberId })).toEqual([bolt]);
      expect(await ask({ endUser })).toEqual([{ ...one, ...tokens(1n) }]);
      expect(await ask({ groupBy: 'workspace' })).toEqual([
        ...[
          { ...one, group: workspaceId, requests: 2, costNanoUsd: 12_350n, ...tokens(2n) },
          { ...one, group: 'another', ...tokens(1n) },
          { ...bolt, group: workspaceId },
        ].sort((a, b) => (a.provider + a.group < b.provider + b.group ? -1 : 1)),
      ]);
      const groupsOf = async (groupBy: ActivityGroup) => (await ask({ groupBy })).map(({ group }) => group);
      expect(await groupsOf('key')).toContain(keyHash);
      expect(await groupsOf('member')).toContain(memberId);
      expect(await groupsOf('endUser')).toContain(endUser);
      expect((await ask({ fromMs: (day - 9) * dayMs, toMs: (day + 9) * dayMs })).map((row) => row.day).sort()).toEqual([
        day - 1,
        day,
        day,
        day + 1,
      ]);
    });

    it('sums the cost of BYOK keys separately', async () => {
      const { ledger } = pair().storage;
      const [workspaceId, keyHash, model] = [randomUUID(), randomUUID(), randomUUID()];
      const make = (costNanoUsd: bigint, isByok: boolean, id: number) =>
        createTestEntry({ id: `gen-zzzz${model.slice(0, 8)}${id}`, workspaceId, keyHash, model, costNanoUsd, isByok });
      await ledger.append([make(3n, false, 1), make(50n, true, 2), make(700n, true, 3)]);

      const today = Math.floor(1_790_000_000_123 / 86_400_000) * 86_400_000;
      expect(await readSpent(ledger, { keyHash }, 0, today + 86_400_000)).toEqual([3n, 0n]);
      expect(await readByokSpent(ledger, { keyHash }, 0, today + 86_400_000)).toEqual([750n, 0n]);
      expect(await readByokSpent(ledger, { workspaceId }, today)).toEqual([750n]);
      expect(await ledger.readActivity({ ...testDays, keyHash })).toMatchObject([
        { requests: 3, costNanoUsd: 3n, byokNanoUsd: 750n },
      ]);
    });
  });
}
