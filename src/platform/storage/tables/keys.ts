import { type Selectable, sql } from 'kysely';
import { rateLimitNames } from '../../../domain/rate-limits.ts';
import { currentTimeMs } from '../../../domain/clock.ts';
import type { KeyQuery, KeyRecord } from '../ports/keys.ts';
import { readFlag, readNullableNumber, readNumber, writeFlag, writeNullableText, writeTextColumn } from './columns.ts';
import type { Database, KeyTable } from './database.ts';
import { readRates, writeRates } from './rate-columns.ts';
import { changeAccess } from './revisions.ts';

const replaceable = [
  ...(['name', 'label', 'kind', 'workspace_id', 'member_id', 'disabled', 'expires_at_ms', 'limit_nano_usd'] as const),
  ...([
    'limit_reset',
    'include_byok_in_limit',
    'updated_at_ms',
    'creator_user_id',
    'external_user',
    'intern_id',
  ] as const),
  ...rateLimitNames,
] as const;

/** Lists the oldest first. */
export async function listKeyRows(db: Database): Promise<KeyRecord[]> {
  const rows = await db.selectFrom('keys').selectAll().orderBy('created_at_ms').orderBy('hash').execute();
  return rows.map(readKey);
}

/** Inserts, or replaces all columns except `created_at_ms`. An identical key is not a change. */
export async function putKey(db: Database, key: KeyRecord): Promise<void> {
  await changeAccess(db, (trx) => insertKeyRow(trx, key));
}

/**
 * Works like `putKey` as a part of a change.
 *
 * @returns whether it changed anything
 */
export async function insertKeyRow(trx: Database, key: KeyRecord): Promise<boolean> {
  const result = await trx
    .insertInto('keys')
    .values({
      hash: key.hash,
      name: writeTextColumn(key.name),
      label: writeTextColumn(key.label),
      kind: key.kind,
      workspace_id: key.workspaceId,
      member_id: key.memberId,
      disabled: writeFlag(key.disabled),
      created_at_ms: key.createdAtMs,
      expires_at_ms: key.expiresAtMs,
      limit_nano_usd: key.limitNanoUsd,
      limit_reset: key.limitReset,
      include_byok_in_limit: writeFlag(key.includeByokInLimit),
      updated_at_ms: key.updatedAtMs,
      creator_user_id: writeNullableText(key.creatorUserId),
      external_user: writeNullableText(key.externalUser),
      ...writeRates(key.rateLimits),
      from_bootstrap: 0,
      intern_id: key.internId,
    })
    .onConflict((oc) =>
      oc
        .column('hash')
        .doUpdateSet((eb) => Object.fromEntries(replaceable.map((column) => [column, eb.ref(`excluded.${column}`)])))
        .where((eb) =>
          eb.or(replaceable.map((column) => eb(`keys.${column}`, 'is distinct from', eb.ref(`excluded.${column}`)))),
        ),
    )
    .executeTakeFirst();
  return result.numInsertedOrUpdatedRows !== 0n;
}

/** @returns the key after the change, or undefined if none has this hash */
export async function setKeyDisabled(db: Database, hash: string, disabled: boolean): Promise<KeyRecord | undefined> {
  let key: KeyRecord | undefined;
  await changeAccess(db, async (trx) => {
    const result = await trx
      .updateTable('keys')
      .set({ disabled: writeFlag(disabled), updated_at_ms: currentTimeMs() })
      .where('hash', '=', hash)
      .where('disabled', '<>', BigInt(writeFlag(disabled)))
      .executeTakeFirst();
    const row = await trx.selectFrom('keys').selectAll().where('hash', '=', hash).executeTakeFirst();
    key = row && readKey(row);
    return result.numUpdatedRows !== 0n;
  });
  return key;
}

/** Lists the hashes of keys that a configuration defines, in any order. */
export async function listBootstrapKeys(db: Database): Promise<string[]> {
  const rows = await db.selectFrom('keys').select('hash').where('from_bootstrap', '<>', 0n).execute();
  return rows.map(({ hash }) => hash);
}

/** Does not raise the revision, because no request depends on it. */
export async function markBootstrapKey(db: Database, hash: string, isDefined: boolean): Promise<void> {
  await db
    .updateTable('keys')
    .set({ from_bootstrap: writeFlag(isDefined) })
    .where('hash', '=', hash)
    .execute();
}

export async function findKeyRow(db: Database, hash: string): Promise<KeyRecord | undefined> {
  const row = await db.selectFrom('keys').selectAll().where('hash', '=', writeTextColumn(hash)).executeTakeFirst();
  return row && readKey(row);
}

/** Lists inference keys, the newest first. */
export async function listInferenceKeys(
  db: Database,
  { workspaceId, includeDisabled, offset, limit }: KeyQuery,
): Promise<KeyRecord[]> {
  let query = db
    .selectFrom('keys')
    .selectAll()
    .where('kind', '<>', 'management')
    .orderBy('created_at_ms', 'desc')
    .orderBy('hash', 'desc')
    .limit(limit)
    .offset(offset);
  if (workspaceId !== undefined) query = query.where('workspace_id', '=', writeTextColumn(workspaceId));
  if (!includeDisabled) query = query.where('disabled', '=', 0n);
  return (await query.execute()).map(readKey);
}

export async function deleteKeyRow(trx: Database, hash: string): Promise<void> {
  await trx.deleteFrom('keys').where('hash', '=', hash).execute();
}

/** Deletes the keys of an intern. */
export async function deleteInternKeyRows(trx: Database, internId: string): Promise<KeyRecord[]> {
  return (await trx.deleteFrom('keys').where('intern_id', '=', internId).returningAll().execute()).map(readKey);
}

/** Counts the inference keys of a workspace, including disabled and expired ones. */
export async function countKeys(db: Database, workspaceId: string): Promise<number> {
  const { count } = await db
    .selectFrom('keys')
    .select(sql<bigint>`count(*)`.as('count'))
    .where('workspace_id', '=', workspaceId)
    .where('kind', '<>', 'management')
    .executeTakeFirstOrThrow();
  return readNumber(count);
}

/** Finds the members that have an enabled key in the workspace. */
export async function findKeyOwners(
  db: Database,
  workspaceId: string,
  memberIds: readonly string[],
): Promise<string[]> {
  const rows = await db
    .selectFrom('keys')
    .select('member_id')
    .distinct()
    .where('workspace_id', '=', workspaceId)
    .where('member_id', 'in', memberIds)
    .where('disabled', '=', 0n)
    .orderBy('member_id')
    .$narrowType<{ member_id: string }>()
    .execute();
  return rows.map((row) => row.member_id);
}

function readKey(row: Selectable<KeyTable>): KeyRecord {
  return {
    hash: row.hash,
    name: row.name,
    label: row.label,
    kind: row.kind,
    workspaceId: row.workspace_id,
    memberId: row.member_id,
    disabled: readFlag(row.disabled),
    createdAtMs: readNumber(row.created_at_ms),
    updatedAtMs: readNullableNumber(row.updated_at_ms),
    expiresAtMs: readNullableNumber(row.expires_at_ms),
    limitNanoUsd: row.limit_nano_usd,
    limitReset: row.limit_reset,
    includeByokInLimit: readFlag(row.include_byok_in_limit),
    rateLimits: readRates(row),
    creatorUserId: row.creator_user_id,
    externalUser: row.external_user,
    internId: row.intern_id,
  };
}
