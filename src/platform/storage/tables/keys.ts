import type { Selectable } from 'kysely';
import type { KeyRecord } from '../storage.ts';
import {
  type Integer,
  type NullableInteger,
  readFlag,
  readNullableNumber,
  readNumber,
  writeFlag,
  writeText,
} from './columns.ts';
import type { Database } from './database.ts';
import { changeAccess } from './revisions.ts';

export interface KeyTable {
  hash: string;
  name: string;
  label: string;
  kind: KeyRecord['kind'];
  workspace_id: string;
  member_id: string | null;
  disabled: Integer;
  created_at_ms: Integer;
  expires_at_ms: NullableInteger;
}

const replaceable = ['name', 'label', 'kind', 'workspace_id', 'member_id', 'disabled', 'expires_at_ms'] as const;

/** Oldest first. */
export async function listKeys(db: Database): Promise<KeyRecord[]> {
  const rows = await db.selectFrom('keys').selectAll().orderBy('created_at_ms').orderBy('hash').execute();
  return rows.map(readKey);
}

/** Inserts, or replaces all but `created_at_ms`. The same key again is no change. */
export async function putKey(db: Database, key: KeyRecord): Promise<void> {
  await changeAccess(db, async (trx) => {
    const result = await trx
      .insertInto('keys')
      .values({
        hash: key.hash,
        name: writeText(key.name),
        label: writeText(key.label),
        kind: key.kind,
        workspace_id: key.workspaceId,
        member_id: key.memberId,
        disabled: writeFlag(key.disabled),
        created_at_ms: key.createdAtMs,
        expires_at_ms: key.expiresAtMs,
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
  });
}

/** @returns the key as it is afterwards, or undefined when there is none with this hash */
export async function setKeyDisabled(db: Database, hash: string, disabled: boolean): Promise<KeyRecord | undefined> {
  let key: KeyRecord | undefined;
  await changeAccess(db, async (trx) => {
    const result = await trx
      .updateTable('keys')
      .set({ disabled: writeFlag(disabled) })
      .where('hash', '=', hash)
      .where('disabled', '<>', BigInt(writeFlag(disabled)))
      .executeTakeFirst();
    const row = await trx.selectFrom('keys').selectAll().where('hash', '=', hash).executeTakeFirst();
    key = row && readKey(row);
    return result.numUpdatedRows !== 0n;
  });
  return key;
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
    expiresAtMs: readNullableNumber(row.expires_at_ms),
  };
}
