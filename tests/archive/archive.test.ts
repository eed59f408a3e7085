import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exportLedger } from '../../src/cli/export-ledger.ts';
import { loadConfig } from '../../src/config/load.ts';
import { type ArchivingParts, archiveLedger, type LedgerRetention } from '../../src/metering/archive/archive-ledger.ts';
import { nameArchiveFile, readArchive, writeDay } from '../../src/metering/archive/archive-files.ts';
import { openDiskObjects } from '../../src/platform/objects/disk/disk-objects.ts';
import type { Objects } from '../../src/platform/objects/objects.ts';
import { createTestEntry } from '../../src/platform/storage/contract/samples.ts';
import { openSqliteStorage } from '../../src/platform/storage/sqlite/open.ts';
import type { ArchiveRecord, ArchiveRow } from '../../src/platform/storage/ports/archives.ts';
import type { Storage } from '../../src/platform/storage/storage.ts';
import { createEntries, DAY_MS, FIRST_DAY, fillLedger, keepDays, sumFiles, sumLedger, workspaces } from './ledgers.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-archive-'));
const days = [FIRST_DAY, FIRST_DAY + 1, FIRST_DAY + 2];
const range = { fromDay: FIRST_DAY, toDay: FIRST_DAY + 3 };
const never = new AbortController().signal;
let duck: DuckDBConnection;
const open: Storage[] = [];

beforeAll(async () => {
  duck = await (await DuckDBInstance.create()).connect();
});
afterAll(async () => {
  duck.closeSync();
  for (const storage of open) await storage.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Opens a ledger with entries on three days. */
async function openLab(name: string, entries: number) {
  const data = join(folder, name);
  const storage = await openSqliteStorage(join(data, 'headgate.db'));
  open.push(storage);
  await storage.migrate();
  const recorded = createEntries(entries);
  await fillLedger(storage, recorded);
  const objects = openDiskObjects(join(data, 'files'));
  const parts: ArchivingParts = {
    archives: storage.archives,
    objects,
    readRetention: keepDays(1),
    readExportedPlaces: async () => [],
    now: () => (FIRST_DAY + 4) * DAY_MS,
  };
  return { data, storage, objects, parts, entries: recorded };
}

async function readAll(objects: Objects, archive: ArchiveRecord): Promise<ArchiveRow[]> {
  const rows: ArchiveRow[] = [];
  for await (const page of readArchive(objects, archive)) rows.push(...page);
  return rows;
}

/** Opens objects whose next writes fail. */
function openFailing(objects: Objects, failures: { left: number }): Objects {
  return {
    ...objects,
    async put(key, content) {
      if (failures.left-- > 0) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
      return objects.put(key, content);
    },
  };
}

describe('the archive of the ledger', () => {
  it('has every row and sum of its days in both formats, and leaves all sums as they were', async () => {
    const { data, storage, objects, parts, entries } = await openLab('sums', 2600);
    const before = { sums: await sumLedger(storage.archives, days), totals: await storage.ledger.readTotals() };
    expect(await archiveLedger(parts, never)).toBe(6);

    expect(await sumLedger(storage.archives, days)).toEqual({});
    expect(await storage.ledger.readTotals()).toEqual(before.totals);
    for (const day of days) expect(await storage.ledger.verifyUsage(day * DAY_MS, false)).toBe(0);
    const files = join(data, 'files/objects/ledger/*/*/*');
    expect(await sumFiles(duck, `read_parquet('${files}.parquet%')`)).toEqual(before.sums);
    const json = `read_json('${files}.jsonl.gz%', format = 'newline_delimited', compression = 'gzip')`;
    expect(await sumFiles(duck, json)).toEqual(before.sums);
    const types = await duck.runAndReadAll(`describe select * from read_parquet('${files}.parquet%')`);
    const typeOf = new Map(types.getRowObjects().map((row) => [row['column_name'], row['column_type']]));
    expect(typeOf.get('cost_nano_usd')).toBe('BIGINT');
    expect(typeOf.get('created_at')).toMatch(/^TIMESTAMP/);
    expect(typeOf.get('streamed')).toBe('BOOLEAN');

    // The texts are those of the ledger, too.
    const [archive] = await storage.archives.listArchives({ ...range, workspaceId: workspaces[0]! });
    const rows = await readAll(objects, archive!);
    expect(rows).toHaveLength(archive!.rows);
    const withLines = entries.find(({ lines, workspaceId }) => lines && workspaceId === archive!.workspaceId)!;
    const found = rows.find(({ values }) => values['id'] === withLines.id)!;
    expect(found.values).toMatchObject({
      session_id: withLines.sessionId,
      cost_nano_usd: withLines.costNanoUsd,
      created_at_ms: BigInt(withLines.createdAtMs),
      tags: JSON.stringify(withLines.tags),
      history: withLines.history,
    });
    expect(found.lines.map((line) => line['cost_nano_usd'])).toEqual(
      withLines.lines!.map(({ costNanoUsd }) => costNanoUsd),
    );
    expect(await archiveLedger(parts, never)).toBe(0);
  });

  it('does not overwrite a file with rows of a later part, if a process was paused', async () => {
    const { storage, objects, parts } = await openLab('paused', 6);
    const unit = { day: FIRST_DAY, workspaceId: workspaces[0]! };
    const archive = await storage.archives.begin(unit);
    await archiveLedger(parts, never);
    await storage.ledger.append([createTestEntry({ workspaceId: unit.workspaceId, createdAtMs: FIRST_DAY * DAY_MS })]);
    expect(await storage.archives.admitLate(unit, 9)).toMatchObject({ part: 2, rows: archive.rows });

    const paused: ArchivingParts = {
      ...parts,
      archives: { ...storage.archives, listUnfinished: async () => [archive], begin: async () => archive },
    };
    await expect(archiveLedger(paused, never)).rejects.toThrow('Another process has archived 2024-10-04');
    const rows = await readAll(objects, { ...archive, state: 'deleted' });
    expect(rows.every(({ values }) => values['key_hash'] === '0'.repeat(64))).toBe(true);
    expect(rows).toHaveLength(archive.rows);
  });

  it('follows the retention of each workspace', async () => {
    const { storage, parts } = await openLab('retention', 30);
    const today = FIRST_DAY + 10;
    const archive = (retention: LedgerRetention) =>
      archiveLedger({ ...parts, readRetention: async () => retention, now: () => today * DAY_MS }, never);
    const listed = async () =>
      (await storage.archives.listArchives(range)).map(({ day, workspaceId }) => [day - FIRST_DAY, workspaceId]);
    const [one, two] = workspaces as [string, string];
    await archive({ days: undefined, ofWorkspaces: new Map() });
    await archive({ days: 10, ofWorkspaces: new Map([[one, 0]]) });
    expect(await listed()).toEqual([]);
    await archive({ days: undefined, ofWorkspaces: new Map([[two, 8]]) });
    expect(await listed()).toEqual([
      [0, two],
      [1, two],
    ]);
    await archive({ days: 9, ofWorkspaces: new Map([[two, 0]]) });
    expect(await listed()).toEqual([
      [0, one],
      [0, two],
      [1, two],
    ]);
  });

  it('deletes no row before its files are stored and read again', async () => {
    const { storage, objects, parts } = await openLab('failing', 60);
    const before = await sumLedger(storage.archives, days);
    const failures = { left: 2 };
    const failing = { ...parts, objects: openFailing(objects, failures) };
    await expect(archiveLedger(failing, never)).rejects.toThrow('no space left on device');
    await expect(archiveLedger(failing, never)).rejects.toThrow('no space left on device');
    const changing: ArchivingParts = {
      ...parts,
      objects: { ...objects, open: (key) => objects.open(key, { start: 1 }) },
    };
    await expect(archiveLedger(changing, never)).rejects.toThrow('returns other bytes');
    expect(await sumLedger(storage.archives, days)).toEqual(before);
    // An operator has changed the rows of one day. The others are archived.
    const [first] = await storage.archives.listUnfinished();
    const readRows: typeof storage.archives.readRows = async (query) =>
      (await storage.archives.readRows(query)).slice(query.day === first!.day ? 1 : 0);
    const other: ArchivingParts = { ...parts, archives: { ...storage.archives, readRows } };
    await expect(archiveLedger(other, never)).rejects.toThrow(
      `rows of ${writeDay(first!.day)} in workspace ${first!.workspaceId}, and had ${first!.rows}`,
    );
    expect(await archiveLedger(parts, never)).toBe(2);
    expect(await sumLedger(storage.archives, days)).toEqual({});
  });

  it('records a late entry once, in another part', async () => {
    const { storage, objects, parts, entries } = await openLab('late', 60);
    await archiveLedger(parts, never);
    const { entries: count } = await storage.ledger.readTotals();
    const late = createTestEntry({ workspaceId: workspaces[1]!, createdAtMs: FIRST_DAY * DAY_MS });
    await storage.ledger.append([...entries, late]);
    await storage.ledger.append([late, createTestEntry()]);
    expect(await storage.ledger.readTotals()).toMatchObject({ entries: count + 1 });
    expect(await archiveLedger(parts, never)).toBe(1);
    expect(await storage.ledger.readTotals()).toMatchObject({ entries: count + 2 });
    const parts2 = (await storage.archives.listArchives(range)).filter(({ part }) => part > 1);
    expect(parts2).toMatchObject([{ day: FIRST_DAY, workspaceId: workspaces[1], part: 2, rows: 1, state: 'written' }]);
    expect(nameArchiveFile(parts2[0]!, 'parquet')).toBe(`ledger/2024-10-04/a%20b%2Fc/2.parquet`);
    const rows = await readAll(objects, parts2[0]!);
    expect(rows.map(({ values }) => values['id'])).toEqual([late.id]);
    // It is the newest row, which stays until there is another one.
    await storage.ledger.append([late, ...entries, createTestEntry()]);
    expect(await archiveLedger(parts, never)).toBe(0);
    expect(await storage.ledger.find(undefined, late.id)).toBeUndefined();
    expect(await storage.archives.listUnfinished()).toEqual([]);
    expect(await storage.archives.listLateUnits()).toEqual([]);
    expect(await storage.ledger.readTotals()).toMatchObject({ entries: count + 3 });
  });

  it('is a part of exports, if it is asked for', async () => {
    const { data, storage, parts } = await openLab('export', 600);
    const before = await sumLedger(storage.archives, days);
    await archiveLedger({ ...parts, now: () => (FIRST_DAY + 3) * DAY_MS }, never); // two of the days
    const { config } = loadConfig({ env: {}, cwd: data, file: null, flags: { data } });
    const write = async (format: string, archived: boolean, more: object = {}) => {
      const output = join(data, `out.${format}`);
      let stderr = '';
      const terminal = { stdout: { write() {} }, stderr: { write: (text: string) => (stderr += text) } };
      const options = { from: writeDay(FIRST_DAY), to: writeDay(FIRST_DAY + 2), format, output, archived, ...more };
      await exportLedger(terminal, config, options);
      return { output, stderr };
    };
    const parquet = await write('parquet', true);
    expect(await sumFiles(duck, `read_parquet('${parquet.output}')`)).toEqual(before);
    expect(parquet.stderr).toMatch(/^headgate: wrote 630 rows to .*\n$/);
    const jsonl = await write('jsonl', true);
    expect(await sumFiles(duck, `read_json('${jsonl.output}')`)).toEqual(before);
    const lines = readFileSync(jsonl.output, 'utf8').trimEnd().split('\n');
    expect(new Set(lines.map((line) => (JSON.parse(line) as { id: string }).id)).size).toBe(630);

    const rest = await write('parquet', false);
    expect(rest.stderr).toContain('left out 2 archived days. --archived includes them.');
    const day = String(FIRST_DAY + 2);
    const expected = Object.fromEntries(Object.entries(before).filter(([name]) => name.startsWith(day)));
    expect(await sumFiles(duck, `read_parquet('${rest.output}')`)).toEqual(expected);
    const hour = { from: '2024-10-04T01:00:00Z', to: '2024-10-04T02:00:00Z' };
    const some = readFileSync((await write('jsonl', true, hour)).output, 'utf8')
      .trimEnd()
      .split('\n');
    const times = some.map((line) => (JSON.parse(line) as { created_at: string }).created_at);
    expect(times.length).toBeGreaterThan(5);
    for (const time of times) expect(time).toMatch(/^2024-10-04T01:/);
    const [one] = workspaces; // it is in no table
    const ofOne = readFileSync((await write('jsonl', true, { workspace: one })).output, 'utf8')
      .trimEnd()
      .split('\n');
    expect(ofOne).toHaveLength(lines.filter((line) => line.includes(`"workspace_id":"${one}"`)).length);
    await expect(write('csv', true)).rejects.toThrow('--format csv: give jsonl or parquet.');
    await expect(write('jsonl', true, { to: '2024-10-01' })).rejects.toThrow('is after --to');
    await expect(write('jsonl', true, { workspace: 'nothing' })).rejects.toThrow('no workspace "nothing"');
  });
});
