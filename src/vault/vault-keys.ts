import { createHmac, randomBytes } from 'node:crypto';
import { GatewayError } from '../domain/errors.ts';
import type { VaultKeyRecord } from '../platform/storage/ports/vaults.ts';
import { findMasterKey, type MasterKey, type MasterKeys } from './master-keys.ts';
import { deriveKey, KEY_BYTES, SealError, seal, unseal } from './seal.ts';

/** The keys of a vault, in the memory of this process. Closing overwrites them with zeros. */
export class VaultKey implements Disposable {
  readonly vaultId: string;
  readonly generation: number;
  /** Encrypts the values. */
  readonly data: Buffer;
  /** For fingerprints. Derived from the first data key, and the same in all generations: choice 661. */
  private readonly fingerprint: Buffer;

  constructor({ vaultId, generation }: Pick<VaultKeyRecord, 'vaultId' | 'generation'>, both: Buffer) {
    this.vaultId = vaultId;
    this.generation = generation;
    this.data = both.subarray(0, KEY_BYTES);
    this.fingerprint = both.subarray(KEY_BYTES);
  }

  /** Returns `sha256:` and 64 hex digits. Equal values of a vault have equal fingerprints. */
  createFingerprint(value: Uint8Array): string {
    return `sha256:${createHmac('sha256', this.fingerprint).update(value).digest('hex')}`;
  }

  /** Returns the text that stands for a secret in the sandbox of an intern. */
  createPlaceholder(internId: string, name: string): string {
    const key = deriveKey(this.fingerprint, 'vault placeholders');
    const hash = createHmac('sha256', key)
      .update(JSON.stringify([internId, name]))
      .digest('hex');
    return `hgsecret_${name}__${hash.slice(0, 32)}`;
  }

  /** Encrypts the key for the store. */
  wrap(master: MasterKey): VaultKeyRecord {
    const { vaultId, generation } = this;
    const both = Buffer.concat([this.data, this.fingerprint]);
    try {
      const wrapped = seal(master.wrapping, both, placeOf({ vaultId, generation, masterKeyId: master.id }));
      return { vaultId, generation, masterKeyId: master.id, wrapped };
    } finally {
      both.fill(0);
    }
  }

  /** Returns the next generation: another data key, the same fingerprints. */
  rotate(): VaultKey {
    const next = { vaultId: this.vaultId, generation: this.generation + 1 };
    return new VaultKey(next, Buffer.concat([randomBytes(KEY_BYTES), this.fingerprint]));
  }

  [Symbol.dispose](): void {
    this.data.fill(0);
    this.fingerprint.fill(0);
  }
}

/** Creates the keys of a new vault. */
export function createVaultKey(vaultId: string): VaultKey {
  const data = randomBytes(KEY_BYTES);
  return new VaultKey({ vaultId, generation: 1 }, Buffer.concat([data, deriveKey(data, 'vault fingerprints')]));
}

/**
 * Decrypts the keys of a vault.
 *
 * @throws {GatewayError} `unavailable` if the master key is another one; `internal` if the row was changed
 */
export function unwrapVaultKey(keys: MasterKeys, record: VaultKeyRecord): VaultKey {
  const master = findMasterKey(keys, record.masterKeyId);
  if (!master) {
    throw new GatewayError(
      'unavailable',
      'The vault is locked, because the gateway has another master key. Contact its operator.',
    );
  }
  try {
    return new VaultKey(record, unseal(master.wrapping, record.wrapped, placeOf(record)));
  } catch (cause) {
    if (cause instanceof SealError) throw createDamageError(record.vaultId, cause);
    throw cause;
  }
}

const placeOf = ({ vaultId, generation, masterKeyId }: Omit<VaultKeyRecord, 'wrapped'>): unknown[] => [
  'vault key',
  vaultId,
  generation,
  masterKeyId,
];

/** Only the log says which row it is. */
export const createDamageError = (vaultId: string, cause: unknown, name?: string): GatewayError => {
  const message = 'A row of the vault is damaged.';
  const loggedMessage = `${message} vault ${vaultId}, ${name === undefined ? 'its key' : `secret ${name}`}`;
  return new GatewayError('internal', message, { cause, loggedMessage });
};
