import type { ReleasedSecret, SecretRelease } from '../platform/egress/secret-release.ts';
import type { SecretName, SecretRecord } from '../platform/storage/ports/vaults.ts';
import { listEffectiveNames, type SecretHolder } from './effective.ts';
import { openVaultKey, readLocations, type SecretKeys, SecretReader } from './secrets.ts';
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
  async function listBound(host: string): Promise<SecretName[]> {
    const effective = await listEffectiveNames(vaults, holder);
    if (!effective || effective.length === 0) return [];
    const deciding = new Map(effective.map(({ name, vaultId }) => [name, vaultId]));
    const bound = await vaults.listSecretNames([...new Set(deciding.values())], host);
    return bound.filter(({ vaultId, name }) => deciding.get(name) === vaultId);
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
    async list(host) {
      const bound = await listBound(host);
      if (bound.length === 0) return [];
      using key = await openOwnKey();
      if (!key) return [];
      return bound.map((found) => ({
        placeholder: key.createPlaceholder(holder.internId, found.name),
        version: writeVersion(found),
      }));
    },
    async release(host, placeholders) {
      const wanted = new Set(placeholders);
      const bound = await listBound(host);
      using key = await openOwnKey();
      if (!key) return [];
      const released: ReleasedSecret[] = [];
      const names = Map.groupBy(
        bound.filter(({ name }) => wanted.has(key.createPlaceholder(holder.internId, name))),
        ({ vaultId }) => vaultId,
      );
      for (const [vaultId, found] of names) {
        using reader = new SecretReader(parts);
        const rows = await vaults.findSecrets(
          vaultId,
          found.map(({ name }) => name),
        );
        for (const row of rows) {
          const read = await reader.read(row);
          if (!read) continue;
          const { secret, value } = read;
          // The row that was decrypted decides: its hosts are part of the check.
          if (!secret.hosts.includes(host)) value.fill(0);
          else {
            const placeholder = key.createPlaceholder(holder.internId, secret.name);
            const { name } = secret;
            released.push({
              name,
              placeholder,
              version: writeVersion(secret),
              locations: readLocations(secret),
              value,
            });
          }
        }
      }
      return released;
    },
  };
}

/** A name that was deleted and is used again has another time. */
const writeVersion = ({ vaultId, name, version, createdAtMs }: SecretName | SecretRecord): string =>
  `${vaultId} ${name} ${version} ${createdAtMs}`;

/** Returns the variable of each placeholder for the environment of a sandbox: `HEADGATE_SECRET_GITHUB_TOKEN`. */
export const writeSecretVariables = (placeholders: readonly SecretPlaceholder[]): Record<string, string> =>
  Object.fromEntries(
    placeholders.map(({ name, placeholder }) => [`HEADGATE_SECRET_${name.toUpperCase()}`, placeholder]),
  );
