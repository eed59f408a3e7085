import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { startPostgres } from '../../../testing/postgres.ts';
import { startTransactionPooler } from '../../../testing/transaction-pooler.ts';
import { openPostgresStorage } from '../../storage/postgres/open.ts';
import { testCounters, testSharedCounters } from '../contract.ts';
import { forgetAccounts } from './budget-accounts.ts';
import { openPostgresCounters } from './open.ts';

const server = await startPostgres();

if ('skipped' in server) {
  process.stderr.write(`counters: postgres: skipped. ${server.skipped}\n`);
  describe.skip('counters: postgres', () => it(server.skipped, () => {}));
} else {
  afterAll(() => server.stop());
  const storage = await openPostgresStorage(server.url, { poolSize: 1 });
  await storage.migrate();
  await storage.close();
  const open = () => openPostgresCounters(server.url, 5000);
  testCounters('postgres', open);
  // https://github.com/logto-io/logto/issues/8065, https://github.com/flipt-io/flipt/issues/1750
  const pooler = await startTransactionPooler(server.url);
  afterAll(() => pooler.stop());
  testCounters('postgres behind a pooler of transactions', () => openPostgresCounters(pooler.url, 5000));
  testSharedCounters('postgres', open, async () => {
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    await client.query('truncate rate_windows, budget_accounts, budget_holds');
    await client.end();
  });

  it('counters: postgres: a standby does not respond to a ping', async () => {
    const url = new URL(server.url);
    url.searchParams.set('options', '-c default_transaction_read_only=on');
    const counters = await openPostgresCounters(url.href, 5000);
    await expect(counters.ping()).rejects.toThrow('read-only transaction');
    await counters.close();
  });

  it('counters: postgres: forget accounts that nobody asks for, and no others', async () => {
    const pool = new pg.Pool({ connectionString: server.url, max: 1 }).on('error', () => {}); // the server may end first
    pool.on('connect', (client) => client.on('error', () => {}));
    const [day, now] = [86_400_000, Date.now()];
    const addAccount = async (id: string, startedMs: number, reservationEndsMs: number) => {
      const starts = [0, 0, 0, startedMs].map(Math.round);
      await pool.query(`insert into budget_accounts values ($1, 5, $2, '{1,1,1,1}')`, [id, starts]);
      await pool.query(`insert into budget_holds values ('gen-' || $1, $1, 5, $2)`, [id, reservationEndsMs]);
    };
    await addAccount('gone', now - 3 * day, now - day);
    await addAccount('asked today', now - day, now - day);
    await addAccount('under way', now - 3 * day, now + day);
    await forgetAccounts(pool);
    for (const [table, column] of [
      ['budget_accounts', 'id'],
      ['budget_holds', 'account'],
    ]) {
      const { rows } = await pool.query(`select ${column} as id from ${table} where ${column} = any ($1) order by 1`, [
        ['gone', 'asked today', 'under way'],
      ]);
      expect(rows.map(({ id }) => id)).toEqual(['asked today', 'under way']);
    }
    await pool.end();
  });
}
