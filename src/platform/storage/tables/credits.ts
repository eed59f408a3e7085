import { sql } from 'kysely';
import type { CreditRecord } from '../ports/credits.ts';
import { type Integer, writeNullableText } from './columns.ts';
import type { Database } from './database.ts';

/** Credits of the organization. Below zero if credit is withdrawn. */
export interface CreditTable {
  id: string;
  at_ms: Integer;
  nano_usd: Integer;
  note: string | null;
}

/** @returns the sum in nano-dollars; null when nothing was ever paid in */
export async function readCredits(db: Database): Promise<bigint | null> {
  const { sum } = await db
    .selectFrom('credits')
    .select(sql<bigint | null>`cast(sum(nano_usd) as bigint)`.as('sum'))
    .executeTakeFirstOrThrow();
  return sum;
}

/** Nothing was ever paid in, then. */
export async function deleteCredits(trx: Database): Promise<void> {
  await trx.deleteFrom('credits').execute();
}

export async function addCredit(trx: Database, { id, atMs, nanoUsd, note }: CreditRecord): Promise<void> {
  await trx
    .insertInto('credits')
    .values({ id, at_ms: atMs, nano_usd: nanoUsd, note: writeNullableText(note) })
    .execute();
}
