import type { ClientBase } from 'pg';

/** A row of `budget_holds`: what is held in one account for one reservation. */
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
 * Takes away holds whose reservations are settled or whose requests have ended, and those of these accounts that have
 * expired.
 *
 * @param accounts are locked
 * @returns what was there; of a reservation that was settled before, nothing
 */
export async function takeReservations(
  client: ClientBase,
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

/** @returns those that were not there: a host tells of one again when it had no answer */
export async function addReservations(
  client: ClientBase,
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
