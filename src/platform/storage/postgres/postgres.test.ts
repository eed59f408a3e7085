import { randomUUID } from 'node:crypto';
import { createServer } from 'node:net';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { startPostgres } from '../../../testing/postgres.ts';
import { testStorage } from '../contract.ts';
import { createTestEntry } from '../contract/samples.ts';
import { expectUpgrade } from '../migrations/upgrade-contract.ts';
import type { Tables } from '../tables/database.ts';
import { openPostgresStorage } from './open.ts';

const server = await startPostgres();
const created: Record<string, Promise<unknown>> = {};

if ('skipped' in server) {
  process.stderr.write(`storage: postgres: skipped. ${server.skipped}\n`);
  describe.skip('storage: postgres', () => it(server.skipped, () => {}));
} else {
  afterAll(() => server.stop());
  testStorage('postgres', async () => openPostgresStorage(await createDatabase('contract'), { poolSize: 4 }));
  describe('storage: postgres alone', testPostgres);
}

/** @returns the URL of the database, which is made at the first call with its name */
async function createDatabase(name: string, settings = ''): Promise<string> {
  if ('skipped' in server) throw new Error(server.skipped);
  created[name] ??= execute(server.url, `create database ${name} ${settings}`);
  await created[name];
  return new URL(`/${name}`, server.url).href;
}

async function execute(url: string, statement: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await client.query(statement);
  } finally {
    await client.end();
  }
}

function testPostgres(): void {
  const others = `from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;

  it('opens another connection when the server ended the idle one', async () => {
    const url = await createDatabase('idle');
    const storage = await openPostgresStorage(url, { poolSize: 1 });
    await storage.migrate();
    const entry = createTestEntry();

    await execute(url, `select pg_terminate_backend(pid, 5000) ${others}`);
    await expect.poll(() => storage.ledger.append([entry]).then(() => 'booked', String)).toBe('booked');
    expect(await storage.ledger.find(entry.workspaceId, entry.id)).toEqual(entry);
    await storage.close();
  });

  it('does not wait for a server that falls silent, and asks over another connection afterwards', async () => {
    const url = await createDatabase('silent');
    const patient = await openPostgresStorage(url, { poolSize: 1 });
    await patient.migrate();
    await patient.close();
    const storage = await openPostgresStorage(url, { poolSize: 1, limitMs: 1000 });
    const blocker = new pg.Client({ connectionString: url });
    await blocker.connect();
    await blocker.query('begin; lock table keys in access exclusive mode');

    const asked = [storage.access.listKeys(), storage.ping()];
    await expect(asked[0]).rejects.toThrow('PostgreSQL sent nothing for 1000 ms.');
    await asked[1];
    await blocker.query('rollback');
    await blocker.end();
    await expect.poll(() => storage.access.listKeys().catch(String)).toEqual([]);
    await storage.close();
  });

  it('rolls up spending once the maintenance of the table has ended', async () => {
    const url = await createDatabase('maintenance');
    const storage = await openPostgresStorage(url, { poolSize: 1 });
    await storage.migrate();
    const day = (number: number) => number * 86_400_000;
    const make = (number: number) => createTestEntry({ createdAtMs: day(number), costNanoUsd: 7n });
    await storage.ledger.append([1, 2, 3].map(make));
    const vacuum = new pg.Client({ connectionString: url });
    await vacuum.connect();
    await vacuum.query('begin; lock table spending in share update exclusive mode'); // like VACUUM and ANALYZE

    const folded = storage.ledger.foldSpending([0, day(2)]);
    const timeouts = `select xact_rollback as count from pg_stat_database where datname = current_database()`;
    await expect.poll(async () => Number((await execute(url, timeouts)).rows[0].count)).toBeGreaterThan(0);
    await vacuum.query('rollback');
    await vacuum.end();
    expect(await folded).toBe(1);
    await storage.close();
  });

  it('rejects an append whose connection is cut, books nothing of it, and books it the next time', async () => {
    const url = await createDatabase('cut');
    const storage = await openPostgresStorage(url, { poolSize: 1 });
    await storage.migrate();
    const workspaceId = randomUUID();
    const entries = Array.from({ length: 1001 }, () => createTestEntry({ workspaceId }));
    const blocker = new pg.Client({ connectionString: url });
    await blocker.connect();
    await blocker.query('begin');
    await blocker.query('lock table ledger in share mode');

    const cut = storage.ledger.append(entries).then(() => 'booked', String);
    const waiting = async () => (await execute(url, `select 1 ${others} and wait_event_type = 'Lock'`)).rowCount;
    await expect.poll(waiting).toBe(1);
    await execute(url, `select pg_terminate_backend(pid, 5000) ${others} and wait_event_type = 'Lock'`);
    expect(await cut).not.toBe('booked'); // as the server's message or a reset, whichever came first
    await blocker.query('rollback');
    await blocker.end();

    expect(await storage.ledger.readTotals(workspaceId)).toMatchObject({ entries: 0 });
    await storage.ledger.append(entries);
    expect(await storage.ledger.readTotals(workspaceId)).toMatchObject({ entries: 1001 });
    await storage.close();
  });

  it('sorts by bytes in a database whose language sorts otherwise', async () => {
    const locale = `template template0 locale_provider icu icu_locale 'de' locale 'C.UTF-8'`;
    const storage = await openPostgresStorage(await createDatabase('german', locale));
    await storage.migrate();
    for (const id of ['a', 'B', 'ä', 'b']) await storage.access.putMember({ id, createdAtMs: 1 });

    expect((await storage.access.listMembers()).map((member) => member.id)).toEqual(['B', 'a', 'b', 'ä']);
    await storage.close();
  });

  it('brings what earlier builds left up to date', async () => {
    const types = { getTypeParser: (oid: number) => (oid === 20 ? BigInt : pg.types.getTypeParser(oid)) };
    const pool = new pg.Pool({ connectionString: await createDatabase('upgraded'), types });
    pool.on('connect', (client) => client.on('error', () => {})); // the server may be gone before its good-bye is heard
    await expectUpgrade(new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }));
  });

  it('refuses the schema of a newer build and names it', async () => {
    const url = await createDatabase('newer');
    const storage = await openPostgresStorage(url);
    await storage.migrate();
    await execute(url, `insert into headgate_migrations values ('9999-later', '2030-01-01T00:00:00.000Z')`);

    await expect(storage.migrate()).rejects.toThrow(/newer Headgate: migration '9999-later'.*Start that version/);
    await storage.close();
  });

  it('says what to do when there is no such database, and keeps the password to itself', async () => {
    const url = new URL(await createDatabase('there'));
    url.pathname = '/missing';
    url.password = 'hunter2-secret';

    const failure = await openPostgresStorage(url.href).catch((error: Error) => error);
    expect(failure).toBeInstanceOf(Error);
    expect(String(failure)).toMatch(/database "missing" does not exist\. Check storage\.url/);
    expect(String(failure)).not.toContain('hunter2');
  });

  it('says what to do when no server answers', async () => {
    const listener = createServer().listen(0, '127.0.0.1');
    await expect.poll(() => listener.listening).toBe(true);
    const address = listener.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    listener.close();

    await expect(openPostgresStorage(`postgres://headgate:secret@127.0.0.1:${port}/headgate`)).rejects.toThrow(
      new RegExp(`PostgreSQL at 127\\.0\\.0\\.1:${port}/headgate cannot be used: .*ECONNREFUSED.*Check storage\\.url`),
    );
  });
}
