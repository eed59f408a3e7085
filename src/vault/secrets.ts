import { GatewayError } from '../domain/errors.ts';
import type { SealedSecret, SecretRecord, VaultRecord, VaultStore } from '../platform/storage/ports/vaults.ts';
import type { MasterKeys } from './master-keys.ts';
import { SealError, seal, unseal } from './seal.ts';
import { createDamageError, unwrapVaultKey, type VaultKey } from './vault-keys.ts';

export interface VaultParts {
  vaults: VaultStore;
  masterKeys: MasterKeys;
  /** Unix milliseconds. */
  now: () => number;
}

/** Decrypts the keys of a generation. @throws {GatewayError} */
export async function openVaultKey(
  { vaults, masterKeys }: Pick<VaultParts, 'vaults' | 'masterKeys'>,
  { id, generation }: Pick<VaultRecord, 'id' | 'generation'>,
): Promise<VaultKey> {
  const record = await vaults.findVaultKey(id, generation);
  // A rotation can have deleted it since the row was read.
  if (!record) throw new GatewayError('unavailable', 'The vault was changed at the same time; try again.');
  return unwrapVaultKey(masterKeys, record);
}

/** Encrypts a value for its row. */
export function sealSecret(
  key: VaultKey,
  secret: Omit<SecretRecord, 'fingerprint' | 'vaultId'>,
  value: Buffer,
): SealedSecret {
  const row = {
    ...{ ...secret, vaultId: key.vaultId, generation: key.generation, fingerprint: key.createFingerprint(value) },
  };
  return { ...row, sealed: seal(key.data, value, placeOf(row)) };
}

/**
 * Decrypts a value. Every column of the row is part of the check, so a host that was added to the row is an error.
 *
 * @throws {GatewayError} `internal` if the row was changed
 */
export function unsealSecret(key: VaultKey, secret: SealedSecret): Buffer {
  try {
    return unseal(key.data, secret.sealed, placeOf(secret));
  } catch (cause) {
    if (cause instanceof SealError) throw createDamageError(secret.vaultId, cause, secret.name);
    throw cause;
  }
}

const placeOf = (row: Omit<SealedSecret, 'sealed'>): unknown[] => [
  ...['vault secret', row.vaultId, row.name, row.version, row.generation],
  ...[row.hosts, row.fingerprint, row.createdAtMs],
];

/** Decrypts several secrets of one vault one after the other. Their keys are in memory meanwhile. */
export class SecretReader implements Disposable {
  private readonly parts: Pick<VaultParts, 'vaults' | 'masterKeys'>;
  private readonly keys = new Map<number, VaultKey>();

  constructor(parts: Pick<VaultParts, 'vaults' | 'masterKeys'>) {
    this.parts = parts;
  }

  /** @returns the value, which the caller overwrites after use @throws {GatewayError} */
  async read(secret: SealedSecret): Promise<Buffer> {
    const { vaultId, generation } = secret;
    const key = this.keys.get(generation) ?? (await openVaultKey(this.parts, { id: vaultId, generation }));
    this.keys.set(generation, key);
    return unsealSecret(key, secret);
  }

  [Symbol.dispose](): void {
    for (const key of this.keys.values()) key[Symbol.dispose]();
  }
}
