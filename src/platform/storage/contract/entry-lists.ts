import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { RecordedEntry } from '../../../domain/ledger-entry.ts';
import { createTestEntry, type StoragePair } from './samples.ts';

/** Tests the contract of lists of ledger entries. */
export function testEntryLists(pair: () => StoragePair): void {
  describe('lists of ledger entries', () => {
    it('lists entries page by page, the oldest first, by time, model and provider', async () => {
      const { ledger } = pair().storage;
      const model = randomUUID();
      const entries = Array.from({ length: 25 }, (_, at) =>
        createTestEntry({ id: `gen-y${model.slice(0, 8)}${at + 100}`, model, createdAtMs: 1_000 + at }),
      );
      entries[3]!.providerId = null; // as from a build that did not know the field
      entries[4]!.providerId = 'bolt';
      await ledger.append(entries.toReversed());
      await ledger.correct([{ entry: entries[9]!, costNanoUsd: 1n, inputCostNanoUsd: 0n }], 1);

      const seen: string[] = [];
      for (let after: string | undefined; ; ) {
        const page = await ledger.list({ model, limit: 10, after });
        if (page.length === 0) break;
        seen.push(...page.map(({ id }) => id));
        after = page.at(-1)!.id;
      }
      expect(seen).toEqual(entries.map(({ id }) => id));
      const count = async (query: object) => (await ledger.list({ model, limit: 100, ...query })).length;
      expect(await count({ fromMs: 1_003, toMs: 1_005 })).toBe(2);
      expect(await count({ provider: { id: 'acme', name: 'Acme' } })).toBe(24);
      expect(await count({ provider: { id: 'bolt', name: 'Bolt' } })).toBe(1);
      expect(await count({ model: `${model}\0` })).toBe(0);
    });

    it('lists entries page by page, the newest first', async () => {
      const { ledger } = pair().storage;
      const model = randomUUID();
      const entries = Array.from({ length: 25 }, (_, at) =>
        createTestEntry({ id: `gen-y${model.slice(0, 8)}${at + 100}`, model, createdAtMs: 1_000 + at }),
      );
      await ledger.append(entries.toReversed());
      await ledger.correct([{ entry: entries[9]!, costNanoUsd: 1n, inputCostNanoUsd: 0n }], 1);

      const seen: RecordedEntry[] = [];
      let pages = 0;
      for (let before: string | undefined; ; ) {
        const page = await ledger.listRecent({ model, limit: 10, before });
        seen.push(...page.entries);
        before = page.next;
        pages++;
        if (before === undefined) break;
      }
      expect(seen.map(({ id }) => id)).toEqual(entries.map(({ id }) => id).toReversed());
      expect(seen.at(-10)?.correction).toEqual({ costNanoUsd: 1n, inputCostNanoUsd: 0n, count: 1 });
      expect(pages).toBeGreaterThanOrEqual(3);
      expect(await ledger.listRecent({ model, limit: 25 })).toMatchObject({ entries: { length: 25 } });
    });

    it('lists only the recent entries that match', async () => {
      const { ledger } = pair().storage;
      const workspaceId = randomUUID();
      const [first, second, third] = [1_003, 1_004, 1_005].map((createdAtMs) =>
        createTestEntry({ workspaceId, createdAtMs }),
      );
      Object.assign(first!, {
        keyHash: 'b'.repeat(64),
        memberId: 'ben',
        sessionId: 's-1',
        provider: 'Bolt',
        providerId: null,
      });
      Object.assign(second!, { requestedModel: 'router/auto', outcome: 'failed', providerId: 'bolt' });
      Object.assign(third!, { model: 'acme/other', outcome: 'cancelled' });
      await ledger.append([first!, second!, third!]);

      const find = async (query: object) => {
        const { entries } = await ledger.listRecent({ workspaceId, limit: 10, ...query });
        return entries.map(({ createdAtMs }) => createdAtMs);
      };
      expect((await find({})).toSorted()).toEqual([1_003, 1_004, 1_005]);
      expect(await find({ fromMs: 1_004, toMs: 1_005 })).toEqual([1_004]);
      expect(await find({ keyHash: 'b'.repeat(64) })).toEqual([1_003]);
      expect(await find({ memberId: 'ben' })).toEqual([1_003]);
      expect(await find({ sessionId: 's-1' })).toEqual([1_003]);
      expect(await find({ model: 'router/auto' })).toEqual([1_004]);
      expect(await find({ model: 'acme/other' })).toEqual([1_005]);
      expect(await find({ provider: 'Bolt' })).toEqual([1_003]);
      expect(await find({ provider: 'bolt' })).toEqual([1_004]);
      expect((await find({ outcomes: ['failed', 'cancelled'] })).toSorted()).toEqual([1_004, 1_005]);
      expect(await find({ memberId: 'nobody\0' })).toEqual([]);
      expect(await find({ idEnd: first!.id.slice(-8) })).toEqual([1_003]);
      expect(await find({ idEnd: first!.id })).toEqual([1_003]);
      for (const idEnd of [`x${first!.id}`, `%${first!.id.slice(-8)}`, first!.id.slice(0, 8), "'\0"]) {
        expect(await find({ idEnd })).toEqual([]);
      }
    });

    it('finds an old entry behind many others, possibly on a later page', async () => {
      const { ledger } = pair().storage;
      const mark = randomUUID();
      const model = `m-${mark}`;
      const createMany = (count: number) => Array.from({ length: count }, () => createTestEntry());
      const old = createTestEntry({ id: `gen-0${mark}`, model });
      await ledger.append([old, ...createMany(4_500)]);
      const found: string[] = [];
      for (let before: string | undefined; ; ) {
        const page = await ledger.listRecent({ model, limit: 10, before });
        found.push(...page.entries.map(({ id }) => id));
        before = page.next;
        if (before === undefined) break;
      }
      expect(found).toEqual([old.id]);
    });
  });
}
