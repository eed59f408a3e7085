import { spawn } from 'node:child_process';
import { randomInt, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { Kysely } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { isFull } from '../../../testing/full.ts';
import { testStorage } from '../contract.ts';
import { createTestEntry } from '../contract/samples.ts';
import { expectSums } from '../contract/usage.ts';
import { expectUpgrade } from '../migrations/upgrade-contract.ts';
import type { Tables } from '../tables/database.ts';
import { createEntryAppender } from './append-entries.ts';
import { createSqliteDialect } from './dialect.ts';
import { openSqliteStorage } from './open.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-sqlite-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// The long lane runs this file for its last test.
if (!isFull) testStorage('sqlite', () => openSqliteStorage(join(folder, 'contract.db')));

describe('storage: sqlite alone', () => {
  const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);
  const ask = (path: string, statement: string) => {
    const database = new DatabaseSync(path);
    const rows = database.prepare(statement).all();
    database.close();
    return rows;
  };

  it('makes the folder and the files for the owner alone', async () => {
    const path = join(folder, 'not', 'there', 'headgate.db');
    const storage = await openSqliteStorage(path);
    await storage.migrate();

    expect([join(folder, 'not'), join(folder, 'not', 'there')].map(mode)).toEqual(['700', '700']);
    expect([path, `${path}-wal`, `${path}-shm`].map(mode)).toEqual(['600', '600', '600']);
    await storage.close();
  });

  it('keeps a database in memory', async () => {
    const storage = await openSqliteStorage(':memory:');
    await storage.migrate();
    await storage.access.putMember({ id: 'ada', createdAtMs: 1 });
    expect(await storage.access.listMembers()).toHaveLength(1);
    await storage.close();
    expect(existsSync(':memory:')).toBe(false);
  });

  it('ends its connection for searches when it closes, so that no log remains', async () => {
    const path = join(folder, 'searched.db');
    const storage = await openSqliteStorage(path);
    await storage.migrate();
    const words = [{ text: 'refund', isPrefix: true }];
    const count = () => storage.passages.countWords('w', words, 10);
    expect(await count()).toEqual({ passages: 0, counts: [0] });
    await storage.close();
    await expect(count()).rejects.toThrow('closed');
    expect(existsSync(`${path}-wal`)).toBe(false);
  });

  it('folds its log into the file when it closes, even while another one is open', async () => {
    const path = join(folder, 'closed.db');
    await (await openSqliteStorage(path)).close();
    expect(existsSync(`${path}-wal`)).toBe(false);
    const other = await openSqliteStorage(path);
    await other.migrate();
    const storage = await openSqliteStorage(path);
    await storage.ledger.append([createTestEntry({ requestedModel: 'find-me-in-the-file' })]);

    await storage.close();
    expect(statSync(`${path}-wal`).size).toBe(0);
    expect(readFileSync(path).includes('find-me-in-the-file')).toBe(true);
    await other.close();
    expect(existsSync(`${path}-wal`)).toBe(false);
  });

  it('waits for the lock of another process without holding up the event loop', async () => {
    const path = join(folder, 'locked.db');
    const storage = await openSqliteStorage(path);
    await storage.migrate();
    const writer = new DatabaseSync(path);
    writer.exec('begin immediate');

    const entry = createTestEntry();
    let recorded = false;
    const append = storage.ledger.append([entry]).then(() => {
      recorded = true;
    });
    await new Promise((resolve) => setImmediate(resolve)); // a turn that would not come while SQLite waits
    expect(recorded).toBe(false);
    writer.exec('rollback');
    writer.close();
    await append;
    expect(await storage.ledger.find(entry.workspaceId, entry.id)).toEqual(entry);
    await storage.close();
  });

  it('says that there is no room for entries, and takes them when there is', async () => {
    const path = join(folder, 'full.db');
    const storage = await openSqliteStorage(path);
    await storage.migrate();
    await storage.close();
    const database = new DatabaseSync(path, { readBigInts: true });
    const db = new Kysely<Tables>({ dialect: createSqliteDialect(database) });
    const { append, close } = createEntryAppender(database, db, path);
    const pages = (database.prepare('pragma page_count').get() as { page_count: bigint }).page_count;
    database.exec(`pragma max_page_count = ${pages}`);
    const entries = Array.from({ length: 400 }, () => createTestEntry());
    await expect(append(entries)).rejects.toThrow('disk is full');
    database.exec('pragma max_page_count = 1000000');
    await append(entries);
    expect(database.prepare('pragma synchronous').get()).toEqual({ synchronous: 2n }); // full
    await close();
    database.close();
    expect(ask(path, 'select count(*) as entries from ledger')).toEqual([{ entries: 400 }]);
  });

  it('brings what earlier builds left up to date', async () => {
    const database = new DatabaseSync(join(folder, 'upgraded.db'), { readBigInts: true });
    await expectUpgrade(new Kysely<Tables>({ dialect: createSqliteDialect(database) }));
  });

  it('refuses the schema of a newer build and names it', async () => {
    const path = join(folder, 'newer.db');
    const storage = await openSqliteStorage(path);
    await storage.migrate();
    ask(path, `insert into headgate_migrations values ('9999-later', '2030-01-01T00:00:00.000Z')`);

    await expect(storage.migrate()).rejects.toThrow(/newer Headgate: migration '9999-later'.*Start that version/);
    await storage.close();
  });

  it.each([
    [
      "insert into headgate_migrations values ('0003-mine', 'x')",
      /another build of Headgate: migration '0003-mine'.*Start the build/,
    ],
    [
      "delete from headgate_migrations where name like '0005%'",
      /unreleased build of Headgate: migration '0005-ledger-lines' was not run, but '.*' was\. Restore a backup/,
    ],
  ])('rejects the schema of an unknown build and says what to do: %s', async (change, message) => {
    const path = join(folder, `${randomUUID()}.db`);
    const storage = await openSqliteStorage(path);
    await storage.migrate();
    ask(path, change);

    await expect(storage.migrate()).rejects.toThrow(message);
    await storage.close();
  });

  it('says what to do when the file is no database, or a damaged one', async () => {
    const path = join(folder, 'text.db');
    writeFileSync(path, 'This is a letter to my aunt. '.repeat(100));
    await expect(openSqliteStorage(path)).rejects.toThrow(
      /'.*text\.db' is damaged or is not a SQLite database.*restore/,
    );

    const damaged = join(folder, 'damaged.db');
    const storage = await openSqliteStorage(damaged);
    await storage.migrate();
    await storage.close();
    const bytes = readFileSync(damaged);
    bytes.fill(0xff, 100, 4096); // the page of the schema, behind the header
    writeFileSync(damaged, bytes);
    await expect(openSqliteStorage(damaged)).rejects.toThrow(/damaged\.db' is damaged.*restore/);
  });

  it('says what to do when the path is a folder, or leads through a file', async () => {
    mkdirSync(join(folder, 'a-folder'));
    writeFileSync(join(folder, 'a-file'), '');

    await expect(openSqliteStorage(join(folder, 'a-folder'))).rejects.toThrow(/it is a folder.*storage\.url or --data/);
    await expect(openSqliteStorage(join(folder, 'a-file', 'x.db'))).rejects.toThrow(
      /folder of the database, '.*a-file', .*cannot be created.*storage\.url or --data/,
    );
  });

  it('says what to do when the file or its folder can only be read', async () => {
    const readOnly = join(folder, 'read-only');
    const path = join(readOnly, 'headgate.db');
    await (await openSqliteStorage(path)).close();
    chmodSync(folder, 0o755);
    chmodSync(readOnly, 0o555);
    chmodSync(path, 0o444);

    await asOrdinaryUser(async () => {
      await expect(openSqliteStorage(path)).rejects.toThrow(/headgate\.db' cannot be written .*read and write access/);
      await expect(openSqliteStorage(join(readOnly, 'b', 'x.db'))).rejects.toThrow(
        /cannot be created \(EACCES.*Create it/,
      );
    });
    chmodSync(path, 0o666);
    await asOrdinaryUser(async () => {
      await expect(openSqliteStorage(path)).rejects.toThrow(/headgate\.db' cannot be written .*read and write access/);
    });
  });

  const kills = isFull ? 6 : 2;
  it(`loses and doubles no acknowledged entry over ${kills} kill -9 of two writers that start at the same time`, async () => {
    const path = join(folder, 'killed.db');
    const acknowledged: string[] = [];
    for (let round = 0; round < kills; round++) {
      const lines = await Promise.all([runUntilKilled(path, randomInt(1, 10)), runUntilKilled(path, randomInt(1, 10))]);
      acknowledged.push(...lines.flat().flatMap((line) => line.split(' ')));

      const storage = await openSqliteStorage(path);
      const { entries } = await storage.ledger.readTotals();
      expect(entries).toBeGreaterThanOrEqual(acknowledged.length);
      await storage.close();
    }

    const recorded = ask(path, 'select id from ledger').map((row) => String(row.id));
    const known = new Set(recorded);
    expect(known.size).toBe(recorded.length);
    expect(acknowledged.filter((id) => !known.has(id))).toEqual([]);
    const torn = 'select workspace_id from ledger group by workspace_id having count(*) <> max(input_tokens)';
    expect(ask(path, torn)).toEqual([]);
    expect(ask(path, 'select sum(cost_nano_usd) as sum from spending')).toEqual(
      ask(path, 'select sum(cost_nano_usd) as sum from ledger'),
    );
    const storage = await openSqliteStorage(path);
    await expectSums(storage.ledger, recorded.length);
    await storage.close();
    expect(ask(path, 'pragma integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  });
});

/** @returns the whole lines that the process wrote, at least `count` of them unless it failed */
async function runUntilKilled(path: string, count: number): Promise<string[]> {
  const script = fileURLToPath(new URL('append-until-killed.ts', import.meta.url));
  const child = spawn(process.execPath, [script, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
    if (text.split('\n').length > count) child.kill('SIGKILL');
  });
  const [, signal] = await once(child, 'close');
  expect(signal).toBe('SIGKILL');
  return text.split('\n').slice(0, -1); // what stands behind the last line end was cut off
}

/** Root may write anything: its tests of permissions borrow the rights of another user. */
async function asOrdinaryUser(act: () => Promise<void>): Promise<void> {
  if (process.geteuid?.() !== 0) return act();
  process.seteuid?.('nobody');
  try {
    await act();
  } finally {
    process.seteuid?.(0);
  }
}
