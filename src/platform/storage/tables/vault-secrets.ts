import { type Selectable, sql } from 'kysely';
import type { SecretLocation } from '../../../domain/secret-location.ts';
import type { AuditEvent } from '../ports/audit.ts';
import type { Change } from '../ports/management.ts';
import type { Page } from '../ports/page.ts';
import type { PutRefusal, SealedSecret, SecretName, SecretPut, SecretRecord, VaultRecord } from '../ports/vaults.ts';
import { appendNextAudit } from './audit.ts';
import { readNumber, writeTextColumn } from './columns.ts';
import type { Database, VaultSecretTable } from './database.ts';
import { serializeChanges } from './revisions.ts';
import { findVaultRow } from './vaults.ts';

const shown = ['vault_id', 'name', 'version', 'hosts', 'locations', 'fingerprint', 'created_at_ms'] as const;

/** Lists by name. */
export async function listSecretRows(
  db: Database,
  { vaultId, offset, limit }: { vaultId: string } & Page,
): Promise<SecretRecord[]> {
  const rows = await db
    .selectFrom('vault_secrets')
    .select(shown)
    .where('vault_id', '=', writeTextColumn(vaultId))
    .orderBy('name')
    .limit(limit)
    .offset(offset)
    .execute();
  return rows.map(readSecret);
}

/** Lists the vaults that have a secret of each name. @param host only secrets that are bound to it */
export async function listSecretNames(db: Database, vaultIds: readonly string[], host?: string): Promise<SecretName[]> {
  if (vaultIds.length === 0 || (host !== undefined && !/^[a-z0-9.-]+$/.test(host))) return [];
  let query = db
    .selectFrom('vault_secrets')
    .select(['vault_id', 'name', 'version', 'created_at_ms'])
    .where('vault_id', 'in', vaultIds.map(writeTextColumn));
  // A quoted host of the JSON list.
  if (host !== undefined) query = query.where('hosts', 'like', `%"${host}"%`);
  const rows = await query.orderBy('name').execute();
  return rows.map((row) => ({
    vaultId: row.vault_id,
    name: row.name,
    version: readNumber(row.version),
    createdAtMs: readNumber(row.created_at_ms),
  }));
}

/** Finds those that exist, by name. */
export async function findSecretRows(db: Database, vaultId: string, names: readonly string[]): Promise<SealedSecret[]> {
  if (names.length === 0) return [];
  const rows = await db
    .selectFrom('vault_secrets')
    .selectAll()
    .where('vault_id', '=', writeTextColumn(vaultId))
    .where('name', 'in', names.map(writeTextColumn))
    .orderBy('name')
    .execute();
  return rows.map(readSealed);
}

/** Adds or replaces all secrets with their audit entries, or none. */
export function putSecretRows(
  db: Database,
  { vaultId, generation, secrets, maxSecrets }: SecretPut,
  change: Change,
): Promise<PutRefusal | undefined> {
  return db.transaction().execute(async (trx) => {
    await serializeChanges(trx);
    const vault = await findVaultRow(trx, vaultId);
    if (!vault) return 'vault';
    const names = secrets.map(({ name }) => name);
    const stored = await findSecretRows(trx, vaultId, names);
    const before = new Map(stored.map((secret) => [secret.name, secret]));
    const isNext = ({ name, version }: SealedSecret): boolean => version === (before.get(name)?.version ?? 0) + 1;
    if (vault.generation !== generation || !secrets.every(isNext)) return 'stale';
    const { count } = await trx
      .selectFrom('vault_secrets')
      .select(sql<bigint>`count(*)`.as('count'))
      .where('vault_id', '=', vaultId)
      .executeTakeFirstOrThrow();
    if (readNumber(count) + secrets.length - before.size > maxSecrets) return 'limit';
    for (const secret of secrets) {
      const { version, fingerprint, sealed } = secret;
      const hosts = JSON.stringify(secret.hosts);
      const locations = secret.locations && JSON.stringify(secret.locations);
      const changing = { version, generation, hosts, locations, fingerprint, sealed };
      await trx
        .insertInto('vault_secrets')
        .values({ ...changing, vault_id: vaultId, name: secret.name, created_at_ms: secret.createdAtMs })
        .onConflict((oc) => oc.columns(['vault_id', 'name']).doUpdateSet(changing))
        .execute();
      await appendNextAudit(trx, change, describe(vault, before.get(secret.name), secret));
    }
    return undefined;
  });
}

/** Deletes a secret, and records it. */
export function deleteSecretRow(db: Database, vaultId: string, name: string, change: Change): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    await serializeChanges(trx);
    const vault = await findVaultRow(trx, vaultId);
    const [found] = await findSecretRows(trx, vaultId, [name]);
    if (!vault || !found) return false;
    await trx.deleteFrom('vault_secrets').where('vault_id', '=', vaultId).where('name', '=', found.name).execute();
    await appendNextAudit(trx, change, describe(vault, found, undefined));
    return true;
  });
}

/** Lists secrets of earlier generations. */
export async function listStaleSecrets(
  db: Database,
  { vaultId, generation, limit }: { vaultId: string; generation: number; limit: number },
): Promise<SealedSecret[]> {
  const rows = await db
    .selectFrom('vault_secrets')
    .selectAll()
    .where('vault_id', '=', vaultId)
    .where('generation', '<', BigInt(generation))
    .orderBy('name')
    .limit(limit)
    .execute();
  return rows.map(readSealed);
}

/** Replaces the encrypted value of the same version. The vault must still have its generation. */
export function resealSecretRow(
  db: Database,
  { vaultId, name, version, generation, sealed }: SealedSecret,
): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    await serializeChanges(trx);
    if ((await findVaultRow(trx, vaultId))?.generation !== generation) return false;
    const { numUpdatedRows } = await trx
      .updateTable('vault_secrets')
      .set({ generation, sealed })
      .where('vault_id', '=', vaultId)
      .where('name', '=', name)
      .where('version', '=', BigInt(version))
      .executeTakeFirstOrThrow();
    return numUpdatedRows > 0n;
  });
}

/** The audit log has the hosts, the locations and the fingerprint, never the value. */
function describe(vault: VaultRecord, before: SecretRecord | undefined, after: SecretRecord | undefined): AuditEvent {
  const action = !before ? 'vault_secret.create' : after ? 'vault_secret.update' : 'vault_secret.delete';
  const fields = ['hosts', 'locations', 'fingerprint'] as const;
  const changed = fields.filter((field) => JSON.stringify(before?.[field]) !== JSON.stringify(after?.[field]));
  return {
    action,
    objectKind: 'vault_secret',
    objectId: `${vault.id}/${(after ?? before)!.name}`, // one of them exists
    workspaceId: vault.workspaceId,
    changes: Object.fromEntries(
      changed.map((field) => [field, { before: before?.[field] ?? null, after: after?.[field] ?? null }]),
    ),
  };
}

const readSecret = (row: Omit<Selectable<VaultSecretTable>, 'sealed' | 'generation'>): SecretRecord => ({
  vaultId: row.vault_id,
  name: row.name,
  version: readNumber(row.version),
  hosts: JSON.parse(row.hosts) as string[], // written by this build
  locations: row.locations === null ? null : (JSON.parse(row.locations) as SecretLocation[]), // the same
  fingerprint: row.fingerprint,
  createdAtMs: readNumber(row.created_at_ms),
});

const readSealed = (row: Selectable<VaultSecretTable>): SealedSecret => ({
  ...readSecret(row),
  generation: readNumber(row.generation),
  sealed: row.sealed,
});
