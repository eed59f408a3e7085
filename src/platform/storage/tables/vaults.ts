import { type Selectable, sql } from 'kysely';
import type { VaultKeyRecord, VaultRecord } from '../ports/vaults.ts';
import { readNumber, writeTextColumn } from './columns.ts';
import type { Database, VaultKeyTable, VaultTable } from './database.ts';
import { serializeChanges } from './revisions.ts';

/** Inserts a vault with its first key, unless it or the vault of its workspace exists. */
export function addVault(db: Database, vault: VaultRecord, key: VaultKeyRecord): Promise<VaultRecord | undefined> {
  return db.transaction().execute(async (trx) => {
    await serializeChanges(trx);
    const { workspaceId, kind } = vault;
    const known = kind === 'workspace' ? await findWorkspaceVault(trx, workspaceId) : await findVaultRow(trx, vault.id);
    if (known) return known;
    const workspace = await trx
      .selectFrom('workspaces')
      .select('id')
      .where('id', '=', writeTextColumn(workspaceId))
      .executeTakeFirst();
    if (!workspace) return undefined;
    await trx
      .insertInto('vaults')
      .values({
        id: vault.id,
        workspace_id: workspaceId,
        kind,
        generation: vault.generation,
        created_at_ms: Math.round(vault.createdAtMs),
      })
      .execute();
    await trx.insertInto('vault_keys').values(writeKey(key)).execute();
    return vault;
  });
}

export async function findVaultRow(db: Database, id: string): Promise<VaultRecord | undefined> {
  const row = await db.selectFrom('vaults').selectAll().where('id', '=', writeTextColumn(id)).executeTakeFirst();
  return row && readVault(row);
}

export async function findWorkspaceVault(db: Database, workspaceId: string): Promise<VaultRecord | undefined> {
  const row = await db
    .selectFrom('vaults')
    .selectAll()
    .where('workspace_id', '=', writeTextColumn(workspaceId))
    .where('kind', '=', 'workspace')
    .executeTakeFirst();
  return row && readVault(row);
}

/** Also deletes its keys and secrets. @returns whether it existed */
export async function deleteVaultRow(db: Database, id: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('vaults')
    .where('id', '=', writeTextColumn(id))
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}

/** Lists by id. */
export async function listVaultRows(
  db: Database,
  { after, limit }: { after?: string | undefined; limit: number },
): Promise<VaultRecord[]> {
  let query = db.selectFrom('vaults').selectAll();
  if (after !== undefined) query = query.where('id', '>', writeTextColumn(after));
  return (await query.orderBy('id').limit(limit).execute()).map(readVault);
}

export async function findVaultKey(
  db: Database,
  vaultId: string,
  generation: number,
): Promise<VaultKeyRecord | undefined> {
  const row = await db
    .selectFrom('vault_keys')
    .selectAll()
    .where('vault_id', '=', writeTextColumn(vaultId))
    .where('generation', '=', BigInt(generation))
    .executeTakeFirst();
  return row && readKey(row);
}

/** Lists the oldest generation first. */
export async function listVaultKeys(db: Database, vaultId: string): Promise<VaultKeyRecord[]> {
  const rows = await db
    .selectFrom('vault_keys')
    .selectAll()
    .where('vault_id', '=', writeTextColumn(vaultId))
    .orderBy('generation')
    .execute();
  return rows.map(readKey);
}

/** Counts the keys of all vaults by the master key that they need. */
export async function countVaultKeys(db: Database): Promise<{ masterKeyId: string; keys: number }[]> {
  const rows = await db
    .selectFrom('vault_keys')
    .select(['master_key_id', sql<bigint>`count(*)`.as('keys')])
    .groupBy('master_key_id')
    .orderBy('master_key_id')
    .execute();
  return rows.map(({ master_key_id: masterKeyId, keys }) => ({ masterKeyId, keys: readNumber(keys) }));
}

/** Lists keys that need this master key. */
export async function listWrappedKeys(
  db: Database,
  { masterKeyId, limit }: { masterKeyId: string; limit: number },
): Promise<VaultKeyRecord[]> {
  const rows = await db
    .selectFrom('vault_keys')
    .selectAll()
    .where('master_key_id', '=', masterKeyId)
    .orderBy('vault_id')
    .orderBy('generation')
    .limit(limit)
    .execute();
  return rows.map(readKey);
}

/** Replaces a key that still needs that master key. */
export async function rewrapVaultKey(db: Database, key: VaultKeyRecord, masterKeyIdBefore: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('vault_keys')
    .set({ master_key_id: key.masterKeyId, wrapped: key.wrapped })
    .where('vault_id', '=', key.vaultId)
    .where('generation', '=', BigInt(key.generation))
    .where('master_key_id', '=', masterKeyIdBefore)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Adds the next generation, for new values. */
export function addVaultKey(db: Database, key: VaultKeyRecord): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    await serializeChanges(trx);
    const { numUpdatedRows } = await trx
      .updateTable('vaults')
      .set({ generation: key.generation })
      .where('id', '=', key.vaultId)
      .where('generation', '=', BigInt(key.generation - 1))
      .executeTakeFirstOrThrow();
    if (numUpdatedRows === 0n) return false;
    await trx.insertInto('vault_keys').values(writeKey(key)).execute();
    return true;
  });
}

/** Deletes the keys before the current generation that no secret needs. */
export async function deleteUnusedKeys(db: Database, vaultId: string): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await serializeChanges(trx);
    await sql`delete from vault_keys where vault_id = ${vaultId}
      and generation < (select v.generation from vaults v where v.id = ${vaultId})
      and not exists (select 1 from vault_secrets s
        where s.vault_id = ${vaultId} and s.generation = vault_keys.generation)`.execute(trx);
  });
}

const writeKey = ({ vaultId, generation, masterKeyId, wrapped }: VaultKeyRecord) => ({
  vault_id: vaultId,
  generation,
  master_key_id: masterKeyId,
  wrapped,
});

const readKey = (row: Selectable<VaultKeyTable>): VaultKeyRecord => ({
  vaultId: row.vault_id,
  generation: readNumber(row.generation),
  masterKeyId: row.master_key_id,
  wrapped: row.wrapped,
});

const readVault = (row: Selectable<VaultTable>): VaultRecord => ({
  id: row.id,
  workspaceId: row.workspace_id,
  kind: row.kind,
  generation: readNumber(row.generation),
  createdAtMs: readNumber(row.created_at_ms),
});
