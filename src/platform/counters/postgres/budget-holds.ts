import type { ClientBase } from 'pg';

/** A row of `budget_holds`: what is held in one account for one reservation. */
export interface HoldRow {
  id: string;
  account: string;
  nanoUsd: bigint;
}

/**
 * Takes away holds whose reservations are settled, and those of these accounts that have expired.
 *
 * @param accounts are locked
 * @returns what was there; of a reservation that was settled before, nothing
 */
export async function takeHolds(
  client: ClientBase,
  { settled, accounts, nowMs }: { settled: readonly string[]; accounts: readonly string[]; nowMs: number },
): Promise<HoldRow[]> {
  const { rows } = await client.query<{ id: string; account: string; nano_usd: string }>({
    name: 'take-budget-holds',
    text: `
      delete from budget_holds
      where account = any ($2::text[]) and (id = any ($1::text[]) or expires_at_ms <= $3)
      returning id, account, nano_usd::text`,
    values: [settled, accounts, nowMs],
  });
  return rows.map(({ id, account, nano_usd }) => ({ id, account, nanoUsd: BigInt(nano_usd) }));
}

export async function addHolds(
  client: ClientBase,
  holds: readonly (HoldRow & { expiresAtMs: number })[],
): Promise<void> {
  if (holds.length === 0) return;
  await client.query({
    name: 'add-budget-holds',
    text: `
      insert into budget_holds (id, account, nano_usd, expires_at_ms)
      select * from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[])`,
    values: [
      holds.map(({ id }) => id),
      holds.map(({ account }) => account),
      holds.map(({ nanoUsd }) => String(nanoUsd)),
      holds.map(({ expiresAtMs }) => expiresAtMs),
    ],
  });
}
