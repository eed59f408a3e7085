import type { Database } from './database.ts';

/** @returns 0 before the first change of keys, workspaces and members */
export async function readAccessRevision(db: Database): Promise<number> {
  const row = await db.selectFrom('revisions').select('value').where('name', '=', 'access').executeTakeFirstOrThrow();
  return Number(row.value);
}

/**
 * Makes a change and raises the `access` revision in one transaction. The revision comes first: its row lock serializes
 * the writers of all hosts, so that they cannot deadlock and no reader sees a revision before its change.
 *
 * @param change returns whether it changed anything; if not, the revision stays the same
 */
export async function changeAccess(db: Database, change: (trx: Database) => Promise<boolean>): Promise<void> {
  const trx = await db.startTransaction().execute();
  try {
    await trx
      .updateTable('revisions')
      .set((eb) => ({ value: eb('value', '+', 1n) }))
      .where('name', '=', 'access')
      .execute();
    await ((await change(trx)) ? trx.commit() : trx.rollback()).execute();
  } catch (error) {
    if (!trx.isCommitted && !trx.isRolledBack) await trx.rollback().execute();
    throw error;
  }
}

/**
 * Runs the rest of a transaction after the changes of all other processes, and before their next one. Raises no revision,
 * so that no process reads keys and workspaces again.
 */
export async function serializeChanges(trx: Database): Promise<void> {
  await trx
    .updateTable('revisions')
    .set((eb) => ({ value: eb.ref('value') }))
    .where('name', '=', 'access')
    .execute();
}

/** Returns the number of corrections that reduced a cost. */
export async function readReductions(db: Database): Promise<number> {
  const row = await db.selectFrom('revisions').select('value').where('name', '=', 'reductions').executeTakeFirst();
  return Number(row?.value ?? 0);
}

export async function countReduction(trx: Database): Promise<void> {
  await trx
    .insertInto('revisions')
    .values({ name: 'reductions', value: 1n })
    .onConflict((oc) => oc.column('name').doUpdateSet((eb) => ({ value: eb('revisions.value', '+', 1n) })))
    .execute();
}
