import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { patient } from '../../src/testing/patience.ts';
import { startPostgres, type TestPostgres } from '../../src/testing/postgres.ts';
import { testSeed } from '../../src/testing/seed.ts';
import { openPostgresStorage } from '../../src/platform/storage/postgres/open.ts';
import { openSqliteStorage } from '../../src/platform/storage/sqlite/open.ts';
import type { Storage } from '../../src/platform/storage/storage.ts';
import { bundleSource } from '../setup/bundle-source.ts';
import { createEntries, DAY_MS, FIRST_DAY, fillLedger, type Sums, sumFiles, sumLedger } from './ledgers.ts';

/*
 * Two processes archive and export one ledger, and are killed at random moments. In the end, the archive and an export
 * have every row once, and all sums are as before.
 */

const KILLS = 20;
/** Entries on three days. When they are archived, there are more on the next three. */
const ENTRIES = 3000;
const bundledSource = await bundleSource();
const postgres = await startPostgres();
const skipped = 'skipped' in postgres ? ` (skipped: ${postgres.skipped})` : '';
const folder = mkdtempSync(join(tmpdir(), 'headgate-archive-kill-'));
let duck: DuckDBConnection;

beforeAll(async () => {
  duck = await (await DuckDBInstance.create()).connect();
});
afterAll(async () => {
  duck.closeSync();
  if (skipped === '') await (postgres as TestPostgres).stop();
  rmSync(folder, { recursive: true, force: true });
});

describe(`an archive whose processes are killed ${KILLS} times (HEADGATE_TEST_SEED=${testSeed})`, () => {
  it('loses and doubles nothing on SQLite', { timeout: patient(300_000) }, async () => {
    await killAgainAndAgain(join(folder, 'sqlite'), (data) => openSqliteStorage(join(data, 'headgate.db')));
  });

  it.skipIf(skipped !== '')(
    `loses and doubles nothing on PostgreSQL${skipped}`,
    { timeout: patient(300_000) },
    async () => {
      const url = await (postgres as TestPostgres).createDatabase();
      await killAgainAndAgain(join(folder, 'postgres'), () => openPostgresStorage(url, { poolSize: 2 }), url);
    },
  );
});

async function killAgainAndAgain(data: string, open: (data: string) => Promise<Storage>, url?: string): Promise<void> {
  const storage = await open(data);
  await storage.migrate();
  const days: number[] = [];
  const sums: Sums = {};
  const isDone = async () =>
    (await storage.archives.listUnarchived(FIRST_DAY + 50)).length === 0 &&
    (await storage.archives.listUnfinished()).length === 0;
  let totals = await storage.ledger.readTotals();
  const interrupted = new Set<string>();
  let kills = 0;
  for (let round = 0; kills < KILLS; round++) {
    if (await isDone()) {
      const more = [0, 1, 2].map((day) => FIRST_DAY + days.length + day);
      await fillLedger(storage, createEntries(ENTRIES, more[0]));
      Object.assign(sums, await sumLedger(storage.archives, more));
      days.push(...more);
      totals = await storage.ledger.readTotals();
    }
    const processes = [startProcess(data, url), startProcess(data, url)];
    await Promise.all(processes.map(({ begun }) => begun));
    await pause(((testSeed + round * 37) % 40) * 10); // the moment of the kill
    for (const { kill } of processes) if (await kill()) kills++;
    expect(await storage.ledger.readTotals()).toEqual(totals);
    for (const { state } of await storage.archives.listUnfinished()) interrupted.add(state);
  }
  expect(interrupted.size, 'a kill interrupted an archive').toBeGreaterThan(0);
  const last = startProcess(data, url);
  expect(await last.ended).toBe(0);
  expect(await isDone()).toBe(true);
  expect(await sumLedger(storage.archives, days)).toEqual({});
  expect(await storage.ledger.readTotals()).toEqual(totals);
  for (const day of days) expect(await storage.ledger.verifyUsage(day * DAY_MS, false)).toBe(0);
  const files = join(data, 'files/objects/ledger/*/*/*');
  expect(await sumFiles(duck, `read_parquet('${files}.parquet%')`)).toEqual(sums);
  expect(await sumFiles(duck, `read_parquet('${join(data, 'killed.parquet')}')`)).toEqual(sums);
  await storage.close();
}

function startProcess(data: string, url: string | undefined) {
  const script = new URL('archive-until-killed.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, data, ...(url ? [url] : [])], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: bundledSource },
  });
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  return {
    begun: Promise.race([once(child.stdout, 'data'), ended]),
    ended,
    /** @returns whether it was still at work */
    async kill(): Promise<boolean> {
      child.kill('SIGKILL');
      return (await ended) === null;
    },
  };
}
