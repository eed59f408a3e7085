import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openSqliteStorage } from '../../platform/storage/sqlite/open.ts';
import { checkStorage } from './storage.ts';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-check-storage-'));
  file = join(folder, 'headgate.db');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function make(...statements: string[]): Promise<void> {
  const store = await openSqliteStorage(file);
  await store.migrate();
  await store.close();
  const database = new DatabaseSync(file);
  for (const statement of statements) database.exec(statement);
  database.close();
}
const check = () => checkStorage({ storage: { url: `file:${file}` } as Parameters<typeof checkStorage>[0]['storage'] });

it('reports the number of keys of a store of this build', async () => {
  await make();
  expect(await check()).toEqual({ status: 'ok', subject: 'storage', says: `SQLite ${file}; 0 keys` });
});

it('reports a store of a newer build, like the next start', async () => {
  await make("insert into headgate_migrations (name, timestamp) values ('9999-future', 'x')");
  expect(await check()).toMatchObject({
    status: 'fail',
    says: expect.stringContaining("of a newer Headgate: migration '9999-future'"),
    fix: expect.stringContaining('Start that version'),
  });
});

it('reports a store of an unreleased build', async () => {
  await make("delete from headgate_migrations where name like '0005%'");
  expect(await check()).toMatchObject({
    status: 'fail',
    says: expect.stringContaining("migration '0005-ledger-lines' was not run"),
    fix: expect.stringContaining('Restore a backup'),
  });
});

it('warns of a store that the next start will update', async () => {
  await make('delete from headgate_migrations where name = (select max(name) from headgate_migrations)');
  expect(await check()).toMatchObject({ status: 'warn', fix: expect.stringContaining('Make a backup first.') });
});

it('recognizes an empty one', async () => {
  await (await openSqliteStorage(file)).close();
  expect(await check()).toMatchObject({ status: 'ok', says: expect.stringContaining('created at the first start') });
});
