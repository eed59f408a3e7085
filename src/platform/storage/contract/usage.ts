import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createId, timedPrefix } from '../../../domain/ids.ts';
import { generationOutcomes, type LedgerEntry, type RecordedEntry } from '../../../domain/ledger-entry.ts';
import type { Tags } from '../../../domain/tags.ts';
import type { Correction } from '../ports/entries.ts';
import { durationBoundsMs, type UsageDimension, type UsageQuery, type UsageRow } from '../ports/usage.ts';
import type { Storage } from '../storage.ts';
import { createTestEntry, createTestLine, type StoragePair } from './samples.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** Days that no other test uses. */
let nextDay = 81_234; // 2192

const createEntryAt = (createdAtMs: number, fields: Partial<LedgerEntry> = {}): LedgerEntry =>
  createTestEntry({ id: createId(timedPrefix('gen-', createdAtMs)), createdAtMs, ...fields });

/** Tests the contract of sums by time and dimension. */
export function testUsage(pair: () => StoragePair): void {
  describe('usage', () => {
    it('has the same sums as the ledger, in every zone, after corrections and repeated entries', async () => {
      const { storage, other } = pair();
      await fc.assert(
        fc.asyncProperty(fc.array(entryFields, { minLength: 1, maxLength: 60 }), fc.integer(), async (drawn, seed) => {
          const day = nextDay;
          nextDay += 5;
          const entries = drawn.map(({ atMs, ...fields }) => createEntryAt(day * DAY_MS + atMs, fields));
          const half = entries.length >> 1;
          await Promise.all([
            storage.ledger.append(entries.slice(0, half + 1)),
            other.ledger.append(entries.slice(half).reverse()),
          ]);
          await storage.ledger.append(entries);
          const recorded = new Map<string, RecordedEntry>(entries.map((entry) => [entry.id, entry]));
          const corrections = entries.filter((_, index) => (seed + index) % 3 === 0).map(correct);
          await other.ledger.correct(corrections, 1);
          for (const { entry, ...added } of corrections)
            recorded.set(entry.id, { ...entry, correction: { ...added, count: 1 } });

          for (const offsetMs of [0, HOUR_MS, -5 * HOUR_MS, 5.5 * HOUR_MS, 5.75 * HOUR_MS]) {
            const starts = [0, 1, 2, 2.25, 3, 3.5, 4].map((days) => (day + days) * DAY_MS - offsetMs);
            for (const query of queries) {
              const asked: UsageQuery = { boundsMs: starts, only: {}, groupBy: [], histograms: true, ...query };
              const found = await other.ledger.readUsage(asked);
              expect(sortRows(found)).toEqual(sortRows(sumUp([...recorded.values()], asked)));
            }
          }
          for (let at = day; at < day + 5; at++) {
            expect(await storage.ledger.verifyUsage(at * DAY_MS, false), 'wrong rows').toBe(0);
          }
        }),
        { numRuns: 12 },
      );
    });

    it('returns as many rows as are permitted, if there are more, also by tag', async () => {
      const { storage } = pair();
      const day = nextDay++;
      const entries = ['a', 'b', 'c'].map((team) => createEntryAt(day * DAY_MS, { model: team, tags: { team } }));
      await storage.ledger.append(entries);
      const boundsMs = [day * DAY_MS, (day + 1) * DAY_MS];
      for (const maxRows of [1, 2, 3, 4, 5]) {
        const rows = await storage.ledger.readUsage({
          boundsMs,
          groupBy: ['model', 'tag'],
          tagKey: 'team',
          only: {},
          maxRows,
        });
        expect(rows).toHaveLength(maxRows);
      }
    });
  });
}

/** Expects that all sums are those of the ledger. @param requests number of entries */
export async function expectSums(ledger: Storage['ledger'], requests: number): Promise<void> {
  const days = (await ledger.readUsageDays())!;
  let sum = 0;
  for (let day = days.firstMs; day <= days.lastMs; day += DAY_MS) {
    expect(await ledger.verifyUsage(day, false), 'rows that differ').toBe(0);
    const rows = await ledger.readUsage({ boundsMs: [day, day + DAY_MS], groupBy: ['model'], only: {} });
    sum += rows.reduce((total, row) => total + row.requests, 0);
  }
  expect(sum).toBe(requests);
}

const entryFields = fc
  .record({
    atMs: fc.integer({ min: 0, max: 4 * DAY_MS - 1 }),
    workspaceId: fc.constantFrom('w1', 'w2'),
    keyHash: fc.constantFrom('k1', 'k2', 'k3'),
    memberId: fc.constantFrom(null, 'ada', 'bob'),
    model: fc.constantFrom(null, 'acme/small', 'acme/large'),
    provider: fc.constantFrom(null, 'Acme', 'Bolt'),
    outcome: fc.constantFrom(...generationOutcomes),
    status: fc.constantFrom(200, 402, 500, 529),
    isByok: fc.boolean(),
    priced: fc.boolean(),
    tags: fc.constantFrom<Tags | undefined>(undefined, { team: 'a:b' }, { feature: 'x' }, { team: 'c', feature: 'x' }),
    inputTokens: fc.oneof(fc.nat(1000), fc.constant(Number.MAX_SAFE_INTEGER)),
    cachedTokens: fc.nat(10),
    cacheWriteTokens: fc.nat(10),
    outputTokens: fc.nat(1000),
    reasoningTokens: fc.nat(10),
    durationMs: fc.oneof(fc.nat(1000), fc.constantFrom(...durationBoundsMs), fc.constant(1e9)),
    firstOutputMs: fc.option(fc.nat(1000), { nil: null }),
    costNanoUsd: fc.bigInt({ min: 0n, max: 2n ** 40n }),
  })
  .chain((fields) =>
    // The lines of an entry add up to it, and may have other kinds of keys.
    fc
      .record({ isSplit: fc.boolean(), isByok: fc.boolean() })
      .map(({ isSplit, isByok }): Partial<LedgerEntry> & { atMs: number } => {
        const part = fields.costNanoUsd / 3n;
        const lines = [
          createTestLine({ isByok, costNanoUsd: part }),
          createTestLine({ isByok: !isByok, costNanoUsd: fields.costNanoUsd - part }),
        ];
        return isSplit ? { ...fields, lines } : fields;
      }),
  );

const correct = (entry: LedgerEntry): Correction => ({
  entry,
  costNanoUsd: 17n - (entry.costNanoUsd >> 1n),
  inputCostNanoUsd: 0n,
  ...(entry.lines && { otherKeysNanoUsd: 5n }),
});

const queries: Partial<UsageQuery>[] = [
  {},
  { groupBy: ['model', 'provider'] },
  { groupBy: ['workspace', 'model'], only: { provider: 'Acme' } },
  { groupBy: ['key'], only: { workspace: 'w1' } },
  { groupBy: ['member', 'model'] },
  { groupBy: ['model'], only: { key: 'k2' } },
  { only: { member: 'ada', model: 'acme/small' } },
  { groupBy: ['tag', 'model'], tagKey: 'team' },
  { groupBy: ['key'], only: { tag: 'feature:x' } },
];

const dimensionOf = (entry: LedgerEntry, dimension: UsageDimension, tagKey: string): string | null =>
  ({
    workspace: entry.workspaceId,
    key: entry.keyHash,
    member: entry.memberId,
    model: entry.model ?? (entry.status >= 500 ? entry.requestedModel : null),
    provider: entry.provider,
    tag: entry.tags?.[tagKey] ?? null,
  })[dimension];

/** The sums by definition. */
function sumUp(entries: readonly RecordedEntry[], { boundsMs, groupBy, only, tagKey = '' }: UsageQuery): UsageRow[] {
  const rows = new Map<string, UsageRow>();
  for (const entry of entries) {
    const interval = boundsMs.findIndex(
      (ms, index) => ms <= entry.createdAtMs && entry.createdAtMs < (boundsMs[index + 1] ?? 0),
    );
    const { tag, ...others } = only;
    const [key = '', ...value] = tag?.split(':') ?? [];
    const isAsked =
      Object.entries(others).every(([name, value]) => dimensionOf(entry, name as UsageDimension, '') === value) &&
      (tag === undefined || entry.tags?.[key] === value.join(':'));
    if (interval < 0 || !isAsked) continue;
    const of = Object.fromEntries(groupBy.map((name) => [name, dimensionOf(entry, name, tagKey)]));
    const name = JSON.stringify([interval, of]);
    const row = rows.get(name) ?? createRow(interval, of);
    rows.set(name, row);
    row.requests++;
    if (entry.outcome === 'failed') row[entry.status >= 500 ? 'errors' : 'rejected']++;
    if (entry.outcome === 'cancelled' || entry.outcome === 'incomplete') row[entry.outcome]++;
    if (!entry.priced) row.unpriced++;
    row.inputTokens += BigInt(entry.inputTokens);
    row.cachedTokens += BigInt(entry.cachedTokens);
    row.cacheWriteTokens += BigInt(entry.cacheWriteTokens);
    row.outputTokens += BigInt(entry.outputTokens);
    row.reasoningTokens += BigInt(entry.reasoningTokens);
    row.durationMs += entry.durationMs;
    const bucketOf = (ms: number) => durationBoundsMs.filter((bound) => bound <= ms).length;
    row.durations![bucketOf(entry.durationMs)]!++;
    if (entry.firstOutputMs !== null) row.firstOutputs![bucketOf(entry.firstOutputMs)]!++;
    const { correction } = entry;
    const forOthers = correction?.otherKeysNanoUsd ?? 0n;
    const parts = [
      ...(entry.lines ?? [entry]),
      ...(correction ? [{ isByok: entry.isByok, costNanoUsd: correction.costNanoUsd - forOthers }] : []),
      { isByok: !entry.isByok, costNanoUsd: forOthers },
    ];
    for (const { isByok, costNanoUsd } of parts) row[isByok ? 'byokNanoUsd' : 'costNanoUsd'] += costNanoUsd;
  }
  return [...rows.values()];
}

const createRow = (interval: number, of: UsageRow['of']): UsageRow => ({
  interval,
  of,
  requests: 0,
  errors: 0,
  rejected: 0,
  cancelled: 0,
  incomplete: 0,
  unpriced: 0,
  inputTokens: 0n,
  cachedTokens: 0n,
  cacheWriteTokens: 0n,
  outputTokens: 0n,
  reasoningTokens: 0n,
  costNanoUsd: 0n,
  byokNanoUsd: 0n,
  durationMs: 0,
  durations: Array(durationBoundsMs.length + 1).fill(0),
  firstOutputs: Array(durationBoundsMs.length + 1).fill(0),
});

const nameOf = ({ interval, of }: UsageRow): string => JSON.stringify([interval, of]);
const sortRows = (rows: readonly UsageRow[]): UsageRow[] => rows.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
