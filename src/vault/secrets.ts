import { GatewayError } from '../domain/errors.ts';
import { defaultLocations, type SecretLocation } from '../domain/secret-location.ts';
import type { SealedSecret, SecretRecord, VaultRecord, VaultStore } from '../platform/storage/ports/vaults.ts';
import type { MasterKeys } from './master-keys.ts';
import { SealError, seal, unseal } from './seal.ts';
import { createDamageError, unwrapVaultKey, type VaultKey } from './vault-keys.ts';

/** Parts that reading needs. */
export type SecretKeys = Pick<VaultParts, 'vaults' | 'masterKeys'>;

export interface VaultParts {
  vaults: VaultStore;
  masterKeys: MasterKeys;
  /** Unix milliseconds. */
  now: () => number;
}

/**
 * Decrypts the keys of a generation.
 *
 * @throws {GatewayError} `unavailable` also if a rotation has deleted them since the row was read
 */
export async function openVaultKey(
  parts: SecretKeys,
  vault: Pick<VaultRecord, 'id' | 'generation'>,
): Promise<VaultKey> {
  const key = await findVaultKey(parts, vault);
  if (key) return key;
  throw new GatewayError('unavailable', 'The vault was changed at the same time; try again.', { retryAfterSeconds: 1 });
}

async function findVaultKey(
  { vaults, masterKeys }: SecretKeys,
  { id, generation }: Pick<VaultRecord, 'id' | 'generation'>,
): Promise<VaultKey | undefined> {
  const record = await vaults.findVaultKey(id, generation);
  return record && unwrapVaultKey(masterKeys, record);
}

/** Encrypts a value for its row. */
export function sealSecret(
  key: VaultKey,
  secret: Omit<SecretRecord, 'fingerprint' | 'vaultId'>,
  value: Buffer,
): SealedSecret {
  const row = {
    ...secret,
    vaultId: key.vaultId,
    generation: key.generation,
    fingerprint: key.createFingerprint(value),
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
  'vault secret',
  row.vaultId,
  row.name,
  row.version,
  row.generation,
  row.hosts,
  row.fingerprint,
  row.createdAtMs,
  ...(row.locations === null ? [] : [row.locations]), // rows of earlier builds have none
];

/** Returns the parts of a request that a secret may be put into. */
export const readLocations = ({ locations }: Pick<SecretRecord, 'locations'>): readonly SecretLocation[] =>
  locations ?? defaultLocations;

/** More rotations than this do not end while a row is read. */
const MAX_TRIES = 5;

/** Decrypts several secrets of one vault one after the other. Their keys are in memory meanwhile. */
export class SecretReader implements Disposable {
  private readonly parts: SecretKeys;
  private readonly keys = new Map<number, VaultKey>();

  constructor(parts: SecretKeys) {
    this.parts = parts;
  }

  /**
   * Reads the row again if a rotation came between.
   *
   * @returns the value, which the caller overwrites after use, and its row; undefined: the secret was deleted
   * @throws {GatewayError}
   */
  async read(found: SealedSecret): Promise<{ secret: SealedSecret; value: Buffer } | undefined> {
    let secret: SealedSecret | undefined = found;
    for (let tries = 0; secret && tries < MAX_TRIES; tries++) {
      const { vaultId, generation, name } = secret;
      const key = this.keys.get(generation) ?? (await findVaultKey(this.parts, { id: vaultId, generation }));
      if (key) {
        this.keys.set(generation, key);
        return { secret, value: unsealSecret(key, secret) };
      }
      [secret] = await this.parts.vaults.findSecrets(vaultId, [name]);
    }
    if (secret)
      throw new GatewayError('unavailable', 'The vault is being changed; try again.', { retryAfterSeconds: 1 });
    return undefined;
  }

  [Symbol.dispose](): void {
    for (const key of this.keys.values()) key[Symbol.dispose]();
  }
}
