import type { SealedSecret, VaultRecord } from '../platform/storage/ports/vaults.ts';
import { openVaultKey, SecretReader, type SecretKeys, sealSecret } from './secrets.ts';
import { unwrapVaultKey, type VaultKey } from './vault-keys.ts';

const BATCH = 50;

/**
 * Gives a vault a new data key, and encrypts its secrets with it. If the process ends meanwhile, all secrets stay readable,
 * and the next call continues. Secrets can be read and written at the same time.
 *
 * @returns false if the vault does not exist
 * @throws {GatewayError} if the master key is another one, or a row was changed
 */
export async function rotateVault(parts: SecretKeys, vaultId: string): Promise<boolean> {
  const { vaults } = parts;
  const found = await vaults.findVault(vaultId);
  if (!found) return false;
  const keys = await vaults.listVaultKeys(vaultId);
  if (keys.length === 1) await beginRotation(parts, found); // otherwise another process has begun one
  for (;;) {
    const vault = await vaults.findVault(vaultId);
    if (!vault) return false;
    const stale = await vaults.listStaleSecrets({ vaultId, generation: vault.generation, limit: BATCH });
    if (stale.length === 0) break;
    using key = await openVaultKey(parts, vault);
    for (const secret of stale) await resealSecret(parts, key, secret);
  }
  await vaults.deleteUnusedKeys(vaultId);
  return true;
}

async function beginRotation(parts: SecretKeys, vault: VaultRecord): Promise<void> {
  using key = await openVaultKey(parts, vault);
  using next = key.rotate();
  await parts.vaults.addVaultKey(next.wrap(parts.masterKeys.current));
}

/** Encrypts a value with another key, unless it was written or deleted meanwhile. */
async function resealSecret(parts: SecretKeys, key: VaultKey, stale: SealedSecret): Promise<void> {
  using reader = new SecretReader(parts);
  const read = await reader.read(stale);
  if (!read) return;
  const { secret, value } = read;
  try {
    if (secret.generation < key.generation) await parts.vaults.resealSecret(sealSecret(key, secret, value));
  } finally {
    value.fill(0);
  }
}

/** Rotates the data keys of all vaults. @returns how many vaults */
export async function rotateAllVaults(parts: SecretKeys): Promise<number> {
  let rotated = 0;
  let after: string | undefined;
  for (;;) {
    const page = await parts.vaults.listVaults({ after, limit: BATCH });
    for (const { id } of page) if (await rotateVault(parts, id)) rotated++;
    after = page.at(-1)?.id;
    if (after === undefined) return rotated;
  }
}

/**
 * Wraps the keys of all vaults with the current master key. If the process ends meanwhile, the next call continues.
 *
 * @returns how many keys
 */
export async function rewrapVaultKeys({ vaults, masterKeys }: SecretKeys): Promise<number> {
  const { current, previous } = masterKeys;
  let rewrapped = 0;
  for (;;) {
    const records = previous ? await vaults.listWrappedKeys({ masterKeyId: previous.id, limit: BATCH }) : [];
    if (records.length === 0 || previous?.id === current.id) return rewrapped;
    for (const record of records) {
      using key = unwrapVaultKey(masterKeys, record);
      if (await vaults.rewrapVaultKey(key.wrap(current), record.masterKeyId)) rewrapped++;
    }
  }
}
