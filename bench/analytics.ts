/**
 * Measures reports and lists over generated ledgers of several sizes, on SQLite and PostgreSQL. The entries are spread over
 * the last year: 200 keys of 20 members in 10 workspaces, 20 models of 5 providers. The time of a report must not depend
 * on the size of the ledger.
 *
 *     node bench/analytics.ts                              1 and 10 million rows
 *     node bench/analytics.ts --rows 1,10,50 --stores sqlite
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { timedPrefix } from '../src/domain/ids.ts';
import { openTimeZone, splitRange, startOfDayIn } from '../src/domain/time-zone.ts';
import { createTestEntry } from '../src/platform/storage/contract/samples.ts';
import type { EntryPageQuery } from '../src/platform/storage/ports/entries.ts';
import type { UsageQuery } from '../src/platform/storage/ports/usage.ts';
import { openPostgresStorage } from '../src/platform/storage/postgres/open.ts';
import { openSqliteStorage } from '../src/platform/storage/sqlite/open.ts';
import type { Storage } from '../src/platform/storage/storage.ts';
import { writeLedgerRow } from '../src/platform/storage/tables/ledger.ts';
import { startPostgres } from '../src/testing/postgres.ts';

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '1,10' },
    stores: { type: 'string', default: 'sqlite,postgres' },
    rounds: { type: 'string', default: '20' },
  },
});
const sizes = options.rows.split(',').map(Number);
const rounds = Number(options.rounds);
const endMs = Math.floor(Date.now() / 900_000) * 900_000;
const YEAR_MS = 365 * 86_400_000;
const CHUNK = 2000;

const keyOf = (number: number): string => String(number % 200).padStart(64, '0');

/** Row `index` of `count`. */
function rowOf(index: number, count: number) {
  const createdAtMs = Math.floor(endMs - YEAR_MS + (index / count) * YEAR_MS);
  const random = (Math.imul(index, 2654435761) >>> 0) % 100_003;
  const hasFailed = random % 50 === 0;
  return writeLedgerRow(
    createTestEntry({
      id: `${timedPrefix('gen-', createdAtMs)}${String(index).padStart(16, '0')}`,
      createdAtMs,
      workspaceId: `workspace-${random % 10}`,
      keyHash: keyOf(random),
      memberId: `member-${random % 20}`,
      model: `acme/model-${random % 20}`,
      provider: `Provider ${random % 5}`,
      costNanoUsd: BigInt(random),
      durationMs: random % 30_000,
      firstOutputMs: random % 3000,
      sessionId: `session-${Math.floor(index / 5)}`,
      ...(hasFailed && { outcome: 'failed', status: 529, errorType: 'provider_overloaded' }),
    }),
  );
}

function* chunks(count: number): Generator<ReturnType<typeof rowOf>[]> {
  for (let start = 0; start < count; start += CHUNK) {
    yield Array.from({ length: Math.min(CHUNK, count - start) }, (_, index) => rowOf(start + index, count));
  }
}

function fillSqlite(path: string, count: number): void {
  const database = new DatabaseSync(path);
  database.exec('pragma synchronous = off; begin');
  const columns = Object.keys(rowOf(0, 1));
  const insert = database.prepare(
    `insert into ledger (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`,
  );
  for (const rows of chunks(count)) for (const row of rows) insert.run(...(Object.values(row) as SQLInputValue[]));
  database.exec('commit; pragma wal_checkpoint(truncate)');
  database.close();
}

async function fillPostgres(url: string, count: number): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const rows of chunks(count)) {
    const json = JSON.stringify(rows, (_, value: unknown) => (typeof value === 'bigint' ? Number(value) : value));
    await client.query('insert into ledger select * from json_populate_recordset(null::ledger, $1)', [json]);
  }
  await client.query('analyze ledger');
  await client.end();
}

interface OpenStore {
  storage: Storage;
  /** Writes the rows of the ledger. */
  fill(count: number): Promise<void>;
  /** Closes it, and opens it again. */
  reopen(): Promise<Storage>;
  remove(): Promise<void>;
}

const stores: Record<string, () => Promise<OpenStore | string>> = {
  async sqlite() {
    const folder = mkdtempSync(join(process.env['TMPDIR'] ?? '/tmp', 'headgate-analytics-'));
    const path = join(folder, 'headgate.db');
    const storage = await openSqliteStorage(path);
    return {
      storage,
      fill: async (count) => fillSqlite(path, count),
      reopen: () => openSqliteStorage(path),
      remove: async () => rmSync(folder, { recursive: true }),
    };
  },
  async postgres() {
    const server = await startPostgres();
    if ('skipped' in server) return server.skipped;
    const url = await server.createDatabase();
    const open = () => openPostgresStorage(url, { limitMs: 600_000 });
    return {
      storage: await open(),
      fill: (count) => fillPostgres(url, count),
      reopen: open,
      remove: () => server.stop(),
    };
  },
};

/** Runs work several times. @returns median and 99th percentile in milliseconds */
async function time(work: () => Promise<unknown>): Promise<string> {
  const times: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const start = performance.now();
    await work();
    if (round > 0) times.push(performance.now() - start); // the first one fills caches
  }
  times.sort((a, b) => a - b);
  const at = (part: number) => times[Math.min(times.length - 1, Math.floor(times.length * part))]!.toFixed(1);
  return `${at(0.5)} / ${at(0.99)}`;
}

function report(zoneName: string, query: Partial<UsageQuery>, interval: 'day' | 'month' = 'day'): UsageQuery {
  const zone = openTimeZone(zoneName)!;
  const fromMs = startOfDayIn(zone, endMs, -364);
  return { boundsMs: splitRange(zone, interval, { fromMs, toMs: endMs, max: 1000 })!, groupBy: [], only: {}, ...query };
}

const reports: Record<string, UsageQuery> = {
  'year by day and model, UTC': report('UTC', { groupBy: ['model'] }),
  'year by day and model, Europe/Berlin': report('Europe/Berlin', { groupBy: ['model'] }),
  'year by day and model, Asia/Kathmandu': report('Asia/Kathmandu', { groupBy: ['model'] }),
  'year by day, one workspace, Berlin': report('Europe/Berlin', { only: { workspace: 'workspace-3' } }),
  'year by day, one key, Berlin': report('Europe/Berlin', { only: { key: keyOf(7) } }),
  'year by month and key, Berlin': report('Europe/Berlin', { groupBy: ['key'] }, 'month'),
  'year by day with durations, Berlin': report('Europe/Berlin', { histograms: true }),
};

const lists: Record<string, Omit<EntryPageQuery, 'limit'>> = {
  'list, newest': {},
  'list, one key': { keyHash: keyOf(7) },
  'list, one model': { model: 'acme/model-7' },
  'list, failed': { outcomes: ['failed'] },
  'list, one old session': { sessionId: 'session-1000' },
  'list, a tag without requests': { tags: { team: 'nowhere' } },
  'list, a status without requests': { statuses: [418, 418] },
  'list, an unusual cost': { minCostNanoUsd: 1_000_000_000_000n },
  'list, a long duration': { minDurationMs: 1_000_000_000 },
};

for (const name of options.stores.split(',')) {
  for (const size of sizes) {
    const store = await stores[name]!();
    if (typeof store === 'string') {
      console.log(`${name}: skipped, ${store}`);
      break;
    }
    let { storage } = store;
    await storage.migrate();
    const start = performance.now();
    await store.fill(size * 1_000_000);
    const filled = performance.now();
    await storage.migrate(); // sums the ledger, as after an upgrade
    const summed = performance.now();
    await storage.close();
    storage = await store.reopen();
    await storage.migrate();
    const opened = performance.now();
    const seconds = (from: number, to: number) => `${((to - from) / 1000).toFixed(1)} s`;
    console.log(
      `\n${name}, ${size} million rows: written in ${seconds(start, filled)}, summed in ${seconds(filled, summed)}, opened in ${seconds(summed, opened)}`,
    );
    console.log('median / p99 in ms');
    const { ledger } = storage;
    for (const [title, query] of Object.entries(reports)) {
      console.log(`${title.padEnd(40)} ${await time(() => ledger.readUsage(query))}`);
    }
    for (const [title, query] of Object.entries(lists)) {
      console.log(`${title.padEnd(40)} ${await time(() => ledger.listPage({ ...query, limit: 50 }))}`);
    }
    await storage.close();
    await store.remove();
  }
}
