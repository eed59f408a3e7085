import type { ReleasedSecret, SecretRelease } from '../platform/egress/secret-release.ts';
import { type EffectiveName, listEffectiveNames, type SecretHolder } from './effective.ts';
import { openVaultKey, type SecretKeys, SecretReader } from './secrets.ts';
import type { VaultKey } from './vault-keys.ts';

/** The part of a secret that a sandbox may see. */
export interface SecretPlaceholder {
  name: string;
  /** The text that the egress proxy replaces. Stays the same as long as the intern exists. */
  placeholder: string;
}

/** The secrets of one intern, for the egress proxy of its sandbox. */
export interface InternRelease extends SecretRelease {
  /** Lists the placeholders of all its secrets by name. @throws {GatewayError} */
  listPlaceholders(): Promise<SecretPlaceholder[]>;
}

/**
 * Creates the release of an intern's secrets. It reads the store for each request, so a deleted secret is no longer
 * released, and a new one is released immediately.
 */
export function createSecretRelease(parts: SecretKeys, holder: SecretHolder): InternRelease {
  const { vaults } = parts;

  /** Lists the secrets whose deciding vault binds them to the host. */
  async function listBound(host: string): Promise<EffectiveName[]> {
    const effective = await listEffectiveNames(vaults, holder);
    if (!effective || effective.length === 0) return [];
    const bound = await vaults.listSecretNames([...new Set(effective.map(({ vaultId }) => vaultId))], host);
    const isBound = new Set(bound.map(({ vaultId, name }) => `${vaultId} ${name}`));
    return effective.filter(({ vaultId, name }) => isBound.has(`${vaultId} ${name}`));
  }
  async function openOwnKey(): Promise<VaultKey | undefined> {
    const vault = await vaults.findVault(holder.vaultId);
    return vault && openVaultKey(parts, vault);
  }

  return {
    async listPlaceholders() {
      const effective = (await listEffectiveNames(vaults, holder)) ?? [];
      using key = await openOwnKey();
      if (!key) return [];
      return effective.map(({ name }) => ({ name, placeholder: key.createPlaceholder(holder.internId, name) }));
    },
    isBound: async (host) => (await listBound(host)).length > 0,
    async release(host, placeholders) {
      const wanted = new Set(placeholders);
      const bound = await listBound(host);
      using key = await openOwnKey();
      if (!key) return [];
      const released: ReleasedSecret[] = [];
      for (const { name, vaultId } of bound) {
        const placeholder = key.createPlaceholder(holder.internId, name);
        if (!wanted.has(placeholder)) continue;
        const [row] = await vaults.findSecrets(vaultId, [name]);
        using reader = new SecretReader(parts);
        const read = row && (await reader.read(row));
        // The row that was decrypted decides: its hosts are part of the check.
        if (read?.secret.hosts.includes(host)) released.push({ name, placeholder, value: read.value });
        else read?.value.fill(0);
      }
      return released;
    },
  };
}

/** Returns the variable of each placeholder for the environment of a sandbox: `HEADGATE_SECRET_GITHUB_TOKEN`. */
export const writeSecretVariables = (placeholders: readonly SecretPlaceholder[]): Record<string, string> =>
  Object.fromEntries(
    placeholders.map(({ name, placeholder }) => [`HEADGATE_SECRET_${name.toUpperCase()}`, placeholder]),
  );
