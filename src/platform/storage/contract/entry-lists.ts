import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { LedgerEntry, RecordedEntry } from '../../../domain/ledger-entry.ts';
import type { EntryFilters, EntryPageQuery } from '../ports/entries.ts';
import { createEntryId, createTestEntry, createTestLine, type StoragePair } from './samples.ts';

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
        const page = await ledger.listPage({ model, limit: 10, after: before });
        seen.push(...page.entries);
        before = page.next;
        pages++;
        if (before === undefined) break;
      }
      expect(seen.map(({ id }) => id)).toEqual(entries.map(({ id }) => id).toReversed());
      expect(seen.at(-10)?.correction).toEqual({ costNanoUsd: 1n, inputCostNanoUsd: 0n, count: 1 });
      expect(pages).toBeGreaterThanOrEqual(3);
      expect(await ledger.listPage({ model, limit: 25 })).toMatchObject({ entries: { length: 25 } });
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
        const { entries } = await ledger.listPage({ workspaceId, limit: 10, ...query });
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

    it('lists only the entries that match every condition', async () => {
      const { ledger } = pair().storage;
      const workspaceId = randomUUID();
      const at = (ms: number, fields: Partial<LedgerEntry> = {}) =>
        createTestEntry({ workspaceId, createdAtMs: 2_000_000_000_000 + ms, ...fields });
      const history = JSON.stringify({
        message: 'the "tool":"router:datetime" is not here',
        tools: [{ tool: 'router:web_fetch', step: 1, outcome: 'ok', startMs: 1, durationMs: 2 }],
      });
      const plain = at(1, { costNanoUsd: 5n, durationMs: 100, cachedTokens: 0, streamed: false, history });
      const tagged = at(2, { tags: { feature: 'top 10', team: 'search' }, status: 429, errorType: 'rate_limited' });
      const searched = at(3, {
        lines: [createTestLine({ kind: 'tool', model: 'web_search' }), createTestLine({ model: 'web_fetch' })],
        tags: { team: 'search_1' },
        status: 503,
      });
      const unpriced = at(4, { priced: false, costNanoUsd: 0n });
      const corrected = at(5, { costNanoUsd: 7n, durationMs: 5_000 });
      await ledger.append([plain, tagged, searched, unpriced, corrected]);
      await ledger.correct([{ entry: corrected, costNanoUsd: 3n, inputCostNanoUsd: 0n }], 1);

      const find = async (filters: EntryFilters) => {
        const query = { workspaceId, ...filters };
        const { entries, next } = await ledger.listPage({ ...query, limit: 10 });
        expect(next).toBeUndefined();
        expect(await ledger.count(query)).toEqual({ count: entries.length, isExact: true });
        return entries.map(({ createdAtMs }) => createdAtMs - 2_000_000_000_000);
      };
      expect(await find({})).toEqual([5, 4, 3, 2, 1]);
      expect(await find({ tags: { team: 'search' } })).toEqual([2]);
      expect(await find({ tags: { team: 'search', feature: 'top 10' } })).toEqual([2]);
      expect(await find({ tags: { team: 'search', feature: 'top' } })).toEqual([]);
      expect(await find({ tags: { team: 'SEARCH' } })).toEqual([]);
      expect(await find({ tags: { team: 'search%' } })).toEqual([]);
      expect(await find({ statuses: [429, 429] })).toEqual([2]);
      expect(await find({ statuses: [500, 599] })).toEqual([3]);
      expect(await find({ errorType: 'rate_limited' })).toEqual([2]);
      expect(await find({ outcomes: [] })).toEqual([]);
      expect(await find({ tool: 'web_search' })).toEqual([3]);
      expect(await find({ tool: 'web_fetch' })).toEqual([]); // the name of a model
      expect(await find({ tool: 'router:web_fetch' })).toEqual([1]);
      expect(await find({ tool: 'router:datetime' })).toEqual([]);
      expect(await find({ minCostNanoUsd: 10n, maxCostNanoUsd: 10n })).toEqual([5]);
      expect(await find({ maxCostNanoUsd: 9n })).toEqual([1]); // neither the corrected one nor the unpriced one
      expect(await find({ minDurationMs: 5_000 })).toEqual([5]);
      expect(await find({ maxDurationMs: 100 })).toEqual([1]);
      expect(await find({ streamed: false })).toEqual([1]);
      expect(await find({ cached: false })).toEqual([1]);
      expect(await find({ cached: true, streamed: true, fromMs: 2_000_000_000_004 })).toEqual([5, 4]);
      expect(await find({ fromMs: 2_000_000_000_002, toMs: 2_000_000_000_004 })).toEqual([3, 2]);
    });

    it('finds a request whose body took an hour by the time of its entry', async () => {
      const { ledger } = pair().storage;
      const workspaceId = randomUUID();
      const createdAtMs = 2_000_100_000_000;
      const slow = createTestEntry({ id: createEntryId(createdAtMs - 3_599_000), createdAtMs, workspaceId });
      await ledger.append([slow]);
      for (const isAscending of [false, true]) {
        const query = { workspaceId, isAscending, limit: 5 };
        const range = { fromMs: createdAtMs, toMs: createdAtMs + 1 };
        expect((await ledger.listPage({ ...query, ...range })).entries).toEqual([slow]);
        expect((await ledger.listPage({ ...query, toMs: createdAtMs })).entries).toEqual([]);
      }
    });

    it.each([
      ['time', false],
      ['time', true],
      ['cost', false],
      ['cost', true],
      ['duration', false],
      ['duration', true],
    ] as const)('orders by %s (ascending: %s), page by page, each entry once', async (order, isAscending) => {
      const { ledger } = pair().storage;
      const workspaceId = randomUUID();
      const entries = Array.from({ length: 23 }, (_, at) =>
        createTestEntry({
          workspaceId,
          createdAtMs: 2_000_200_000_000 + at,
          costNanoUsd: BigInt((at * 7) % 5), // several have the same
          durationMs: (at * 3) % 7,
        }),
      );
      await ledger.append(entries.toReversed());
      await ledger.correct([{ entry: entries[6]!, costNanoUsd: -50n, inputCostNanoUsd: 0n }], 1);
      const cost = (entry: LedgerEntry) => Number(entry.costNanoUsd) - (entry === entries[6] ? 50 : 0);
      const value = { time: () => 0, cost, duration: ({ durationMs }: LedgerEntry) => durationMs }[order];
      const expected = entries.toSorted((a, b) => value(a) - value(b) || (a.id < b.id ? -1 : 1));
      if (!isAscending) expected.reverse();

      const seen: string[] = [];
      const query = { workspaceId, fromMs: 2_000_200_000_000, order, isAscending, limit: 4 };
      for (let after: string | undefined; ; ) {
        const page = await ledger.listPage({ ...query, after });
        seen.push(...page.entries.map(({ id }) => id));
        after = page.next;
        if (after === undefined) break;
      }
      expect(seen).toEqual(expected.map(({ id }) => id));
    });

    it('adds the corrections of an entry between two slices', async () => {
      const { ledger } = pair().storage;
      const workspaceId = randomUUID();
      const fromMs = 2_000_300_000_000;
      const entries = Array.from({ length: 10_020 }, (_, at) =>
        createTestEntry({ workspaceId, createdAtMs: fromMs + at, costNanoUsd: 1n }),
      );
      await ledger.append(entries);
      // The second correction of one of them is the last row of a slice, from the end and from the beginning.
      const corrected = [entries[24]!, entries[9_994]!];
      for (let times = 0; times < 3; times++) {
        const found = await Promise.all(corrected.map(({ id }) => ledger.find(workspaceId, id)));
        await ledger.correct(
          found.map((entry) => ({ entry: entry!, costNanoUsd: 5n, inputCostNanoUsd: 0n })),
          times,
        );
      }
      const range = { workspaceId, fromMs, toMs: fromMs + 100_000 };
      const cost = { minCostNanoUsd: 16n, maxCostNanoUsd: 16n };
      expect(await ledger.count({ ...range, ...cost })).toEqual({ count: 2, isExact: true });
      for (const isAscending of [false, true]) {
        const ids = corrected.map(({ id }) => id);
        if (!isAscending) ids.reverse();
        const list = async (query: Partial<EntryPageQuery>) =>
          (await ledger.listPage({ ...range, isAscending, limit: 2, ...query })).entries.map(({ id }) => id);
        expect(await list(cost)).toEqual(ids);
        if (!isAscending) expect(await list({ order: 'cost' })).toEqual(ids);
      }
    });

    it('finds an old entry behind many others, possibly on a later page', async () => {
      const { ledger } = pair().storage;
      const mark = randomUUID();
      const model = `m-${mark}`;
      const createMany = (count: number) => Array.from({ length: count }, () => createTestEntry());
      const old = createTestEntry({ id: `gen-0${mark}`, model });
      await ledger.append([old, ...createMany(25_000)]);
      const found: string[] = [];
      for (let before: string | undefined; ; ) {
        const page = await ledger.listPage({ model, limit: 10, after: before });
        found.push(...page.entries.map(({ id }) => id));
        before = page.next;
        if (before === undefined) break;
      }
      expect(found).toEqual([old.id]);
    });
  });
}
