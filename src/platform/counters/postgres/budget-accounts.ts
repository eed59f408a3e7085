import type { AccountState } from '../accounts.ts';
import type { Transaction } from './transactions.ts';

/** A row of the table `budget_accounts`: the spending in each window, and the sum of its rows in `budget_holds`. */
export interface StoredAccount extends AccountState {
  /** Time of creation, Unix milliseconds. 0: the row has no sums yet. */
  epoch: number;
}

export interface LockedAccounts {
  accounts: Map<string, StoredAccount>;
  /** By the clock of the server, because the clocks of hosts may differ. */
  nowMs: number;
}

/** Age after which an account is removed. The sums of the ledger contain the same amounts. */
const FORGOTTEN_MS = 2 * 86_400_000;

/** Removes rows of deleted keys, of counts that a correction reset, and of reservations of killed hosts. */
export async function forgetAccounts(client: Transaction): Promise<void> {
  await client.query({
    text: `
    with gone as (
      delete from budget_accounts where id in (
        select id from budget_accounts as old
        where starts_ms[4] < extract(epoch from clock_timestamp()) * 1000 - ${FORGOTTEN_MS}
          and not exists (
            select from budget_holds
            where account = old.id and expires_at_ms > extract(epoch from clock_timestamp()) * 1000)
        for update skip locked)
      returning id)
    delete from budget_holds using gone where account = gone.id`,
  });
}

/** Locks the rows of these accounts until the end of the transaction. Inserts missing ones. */
export async function lockAccounts(client: Transaction, ids: Iterable<string>): Promise<LockedAccounts> {
  const { rows } = await client.query<{
    id: string;
    held_nano_usd: string;
    starts_ms: string[];
    spent_nano_usd: string[];
    epoch: string;
    now_ms: string;
  }>({
    name: 'lock-budget-accounts',
    // All hosts lock in the same order, which prevents deadlocks.
    text: `
      insert into budget_accounts (id, held_nano_usd, starts_ms, spent_nano_usd)
      select id, 0, '{0,0,0,0}', '{0,0,0,0}' from unnest($1::text[]) as wanted (id) order by id collate "C"
      on conflict (id) do update set held_nano_usd = budget_accounts.held_nano_usd
      returning id, held_nano_usd::text, starts_ms::text[], spent_nano_usd::text[], epoch::text,
        (extract(epoch from clock_timestamp()) * 1000)::bigint::text as now_ms`,
    values: [[...ids]],
  });
  const accounts = new Map(
    rows.map((row): [string, StoredAccount] => [
      row.id,
      {
        reservedNanoUsd: BigInt(row.held_nano_usd),
        startsMs: row.starts_ms.map(Number),
        spentNanoUsd: row.spent_nano_usd.map(BigInt),
        epoch: Number(row.epoch),
      },
    ]),
  );
  return { accounts, nowMs: Math.max(0, ...rows.map((row) => Number(row.now_ms))) };
}

/** Writes locked rows. */
export async function writeAccounts(client: Transaction, accounts: ReadonlyMap<string, StoredAccount>): Promise<void> {
  const rows = [...accounts];
  const list = (values: readonly (bigint | number)[]) => `{${values.join(',')}}`;
  await client.query({
    name: 'write-budget-accounts',
    text: `
      update budget_accounts
      set held_nano_usd = written.held, starts_ms = written.starts::bigint[], spent_nano_usd = written.spent::bigint[],
        epoch = written.epoch
      from unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[])
        as written (id, held, starts, spent, epoch)
      where budget_accounts.id = written.id`,
    values: [
      rows.map(([id]) => id),
      rows.map(([, { reservedNanoUsd }]) => String(reservedNanoUsd)),
      rows.map(([, { startsMs }]) => list(startsMs)),
      rows.map(([, { spentNanoUsd }]) => list(spentNanoUsd)),
      rows.map(([, { epoch }]) => epoch),
    ],
  });
}
