import type { Transaction } from './transactions.ts';

/** A row of `budget_holds`: the amount of one reservation in one account. */
export interface ReservationRow {
  id: string;
  account: string;
  nanoUsd: bigint;
}
interface HoldColumns {
  id: string;
  account: string;
  nano_usd: string;
}
const readHold = ({ id, account, nano_usd }: HoldColumns): ReservationRow => ({
  id,
  account,
  nanoUsd: BigInt(nano_usd),
});

/**
 * Deletes the rows of reservations that are settled, whose requests have ended, or that have expired in these accounts.
 *
 * @param accounts locked accounts
 * @returns the deleted rows; none for a reservation that was settled before
 */
export async function takeReservations(
  client: Transaction,
  taken: { settled: readonly string[]; ended: readonly string[]; accounts: readonly string[]; nowMs: number },
): Promise<ReservationRow[]> {
  const { rows } = await client.query<HoldColumns>({
    name: 'take-budget-holds',
    text: `
      delete from budget_holds
      where account = any ($3::text[])
        and (id = any ($1::text[] || $2::text[]) or split_part(id, '.', 1) = any ($2::text[]) or expires_at_ms <= $4)
      returning id, account, nano_usd::text`,
    values: [taken.settled, taken.ended, taken.accounts, taken.nowMs],
  });
  return rows.map(readHold);
}

/**
 * Inserts rows.
 *
 * @returns the new rows; a host retries a reservation without a response
 */
export async function addReservations(
  client: Transaction,
  holds: readonly (ReservationRow & { expiresAtMs: number })[],
): Promise<ReservationRow[]> {
  if (holds.length === 0) return [];
  const { rows } = await client.query<HoldColumns>({
    name: 'add-budget-holds',
    text: `
      insert into budget_holds (id, account, nano_usd, expires_at_ms)
      select * from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[])
      on conflict (id, account) do nothing
      returning id, account, nano_usd::text`,
    values: [
      holds.map(({ id }) => id),
      holds.map(({ account }) => account),
      holds.map(({ nanoUsd }) => String(nanoUsd)),
      holds.map(({ expiresAtMs }) => expiresAtMs),
    ],
  });
  return rows.map(readHold);
}
