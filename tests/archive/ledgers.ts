import type { DuckDBConnection } from '@duckdb/node-api';
import { createEntryId, createTestEntry, createTestLine } from '../../src/platform/storage/contract/samples.ts';
import type { LedgerEntry } from '../../src/domain/ledger-entry.ts';
import type { ArchiveStore, RowPosition } from '../../src/platform/storage/ports/archives.ts';
import type { Storage } from '../../src/platform/storage/storage.ts';
import type { LedgerRetention } from '../../src/metering/archive/archive-ledger.ts';

export const DAY_MS = 86_400_000;
/** The first day of the ledgers of tests. */
export const FIRST_DAY = 20_000;
export const workspaces = ['11111111-1111-4111-8111-111111111111', 'a b/c'];

/** Archives every day before one. */
export const keepDays =
  (days: number): (() => Promise<LedgerRetention>) =>
  async () => ({ days, ofWorkspaces: new Map() });

/** Creates entries with every kind of field on three days of two workspaces. Amounts need all digits of 64 bits. */
export function createEntries(count: number, firstDay = FIRST_DAY): LedgerEntry[] {
  return Array.from({ length: count }, (_, index) => {
    const createdAtMs = (firstDay + (index % 3)) * DAY_MS + ((index * 7_919) % DAY_MS);
    const costNanoUsd = index % 50 === 0 ? 2n ** 53n + BigInt(index) * 2n + 1n : BigInt(index * 1_001);
    const line = createTestLine({ costNanoUsd: costNanoUsd / 2n, isByok: index % 2 === 0 });
    return createTestEntry({
      id: createEntryId(createdAtMs),
      createdAtMs,
      workspaceId: workspaces[index % 2]!,
      keyHash: String(index % 3).repeat(64),
      model: index % 11 === 0 ? null : `acme/model-${index % 4}`,
      isByok: index % 7 === 0,
      inputTokens: index * 3,
      cachedTokens: index,
      cacheWriteTokens: index % 5,
      outputTokens: index * 2,
      reasoningTokens: index % 13,
      costNanoUsd,
      upstreamCostNanoUsd: index % 9 === 0 ? 12_345 : null,
      sessionId: index % 10 === 0 ? null : 'line\nfeed \u2028 "東京"',
      ...(index % 4 === 0 && { special: { webSearches: 2, inputAudioTokens: index } }),
      ...(index % 6 === 0 && { tags: { team: 'search', '10': 'x' } }),
      ...(index % 8 === 0 && { history: JSON.stringify({ attempts: [{ status: 502, ms: 1.5 }] }) }),
      ...(index % 10 === 0 && { lines: [line, { ...line, costNanoUsd: costNanoUsd - line.costNanoUsd }] }),
    });
  });
}

/** Records entries, corrections of some, and a later entry, which stays the newest row. */
export async function fillLedger({ ledger }: Storage, entries: readonly LedgerEntry[]): Promise<void> {
  for (let start = 0; start < entries.length; start += 400) await ledger.append(entries.slice(start, start + 400));
  const corrected = entries.filter((_, index) => index % 20 === 3);
  const corrections = corrected.map((entry) => ({ entry, costNanoUsd: -7n, inputCostNanoUsd: -1n }));
  await ledger.correct(corrections, 1_790_000_000_000);
  await ledger.append([createTestEntry({ createdAtMs: (FIRST_DAY + 100) * DAY_MS, costNanoUsd: 0n })]);
}

/** The columns that are summed. */
export const summed = [
  'input_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'output_tokens',
  'reasoning_tokens',
  'input_audio_tokens',
  'web_searches',
  'cost_nano_usd',
  'input_cost_nano_usd',
] as const;

/** Sums by `day/model/key`: rows, entries, and each of the columns. */
export type Sums = Record<string, bigint[]>;

/** Sums the rows of days in the ledger. */
export async function sumLedger(archives: Pick<ArchiveStore, 'readRows'>, days: readonly number[]): Promise<Sums> {
  const sums: Sums = {};
  for (const day of days) {
    for (const workspaceId of workspaces) {
      for (let after: RowPosition | undefined; ; ) {
        const page = await archives.readRows({ day, workspaceId, after, limit: 1000 });
        for (const { values } of page) {
          const name = `${day}/${values['model']}/${values['key_hash']}`;
          sums[name] ??= [0n, 0n, ...summed.map(() => 0n)];
          const added = [1n, values['corrects'] === null ? 1n : 0n, ...summed.map((name) => values[name] as bigint)];
          for (const [index, value] of added.entries()) sums[name]![index]! += value;
        }
        if (page.length < 1000) break;
        const { id, created_at_ms } = page.at(-1)!.values;
        after = { id: String(id), createdAtMs: Number(created_at_ms) };
      }
    }
  }
  return sums;
}

/** Sums the rows of files with DuckDB. @param from such as `read_parquet('…')` */
export async function sumFiles(duck: DuckDBConnection, from: string): Promise<Sums> {
  const columns = summed.map((name) => `sum(${name})::hugeint as ${name}`).join(', ');
  const found = await duck.runAndReadAll(`
    select epoch_ms(created_at::timestamp) // ${DAY_MS} as day, model, key_hash, count(*) as n,
      count(*) filter (corrects is null) as entries, ${columns}
    from ${from} group by all`);
  return Object.fromEntries(
    found
      .getRowObjects()
      .map((row) => [
        `${row['day']}/${row['model']}/${row['key_hash']}`,
        [row['n'], row['entries'], ...summed.map((name) => row[name])].map((value) => BigInt(value as bigint)),
      ]),
  );
}
