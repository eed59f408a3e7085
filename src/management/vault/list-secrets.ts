import { GatewayError } from '../../domain/errors.ts';
import type { Page } from '../../platform/storage/ports/page.ts';
import type { SecretRecord } from '../../platform/storage/ports/vaults.ts';
import { listEffectiveNames, type SecretScope } from '../../vault/effective.ts';
import {
  findReadableVault,
  getSecretHolder,
  type VaultCaller,
  type VaultManagementParts,
  type VaultPlace,
} from './find-vault.ts';

/** A part of a list whose length is not counted. */
export interface SecretPage<Row> {
  rows: Row[];
  hasMore: boolean;
}

export interface EffectiveSecret extends SecretRecord {
  scope: SecretScope;
}

/** Lists by name, without values. @throws {GatewayError} `not_found` */
export async function listVaultSecrets(
  parts: VaultManagementParts,
  caller: VaultCaller,
  place: VaultPlace,
  { offset, limit }: Page,
): Promise<SecretPage<SecretRecord>> {
  const vault = await findReadableVault(parts, caller, place);
  const rows = vault ? await parts.vaults.listSecrets({ vaultId: vault.id, offset, limit: limit + 1 }) : [];
  return { rows: rows.slice(0, limit), hasMore: rows.length > limit };
}

/**
 * Lists the secrets that an intern receives, by name: those of its own vault, then of the borrowed one, then of the
 * workspace.
 *
 * @throws {GatewayError} `not_found`, also if the borrowed vault no longer exists
 */
export async function listEffectiveSecrets(
  parts: VaultManagementParts,
  caller: VaultCaller,
  internId: string,
  { offset, limit }: Page,
): Promise<SecretPage<EffectiveSecret>> {
  const holder = await getSecretHolder(parts, caller, internId);
  const names = await listEffectiveNames(parts.vaults, holder);
  if (!names)
    throw new GatewayError('not_found', 'The vault of the intern, or the one that it borrows, does not exist.');
  const page = names.slice(offset, offset + limit);
  const rows: EffectiveSecret[] = [];
  for (const vaultId of new Set(page.map((each) => each.vaultId))) {
    const own = page.filter((each) => each.vaultId === vaultId);
    const found = await parts.vaults.findSecrets(
      vaultId,
      own.map(({ name }) => name),
    );
    rows.push(...found.map((secret) => ({ ...secret, scope: own[0]!.scope }))); // a vault has one scope
  }
  return { rows: rows.sort((a, b) => (a.name < b.name ? -1 : 1)), hasMore: names.length > offset + limit };
}
