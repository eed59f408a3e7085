import { sql } from 'kysely';
import type { CreditRecord } from '../ports/credits.ts';
import { writeNullableText } from './columns.ts';
import type { Database } from './database.ts';

/** Returns the sum in nano-dollars; null if there was no payment. */
export async function readCredits(db: Database): Promise<bigint | null> {
  const { sum } = await db
    .selectFrom('credits')
    .select(sql<bigint | null>`cast(sum(nano_usd) as bigint)`.as('sum'))
    .executeTakeFirstOrThrow();
  return sum;
}

/** Deletes all payments, which turns credits off. */
export async function deleteCredits(trx: Database): Promise<void> {
  await trx.deleteFrom('credits').execute();
}

export async function addCredit(trx: Database, { id, atMs, nanoUsd, note }: CreditRecord): Promise<void> {
  await trx
    .insertInto('credits')
    .values({ id, at_ms: atMs, nano_usd: nanoUsd, note: writeNullableText(note) })
    .execute();
}
