import type { SecretLocation } from '../../../domain/secret-location.ts';
import type { Change } from './management.ts';
import type { Page } from './page.ts';

/** A place for secrets. A workspace has at most one of its own. */
export interface VaultRecord {
  id: string;
  workspaceId: string;
  kind: 'workspace' | 'intern';
  /** Generation of the key that encrypts new values. */
  generation: number;
  createdAtMs: number;
}

/** The keys of a vault, encrypted with a master key. */
export interface VaultKeyRecord {
  vaultId: string;
  /** From 1. */
  generation: number;
  /** Says which master key it needs. */
  masterKeyId: string;
  wrapped: string;
}

/** A secret without its value. */
export interface SecretRecord {
  vaultId: string;
  name: string;
  /** From 1; grows with each write. */
  version: number;
  /** Exact host names, lower-case, at least one. */
  hosts: string[];
  /** The parts of a request that it may be put into. Null: the default, in a row that an earlier build wrote. */
  locations: SecretLocation[] | null;
  fingerprint: string;
  createdAtMs: number;
}

/** Enough to know whether a secret was written again. */
export type SecretName = Pick<SecretRecord, 'vaultId' | 'name' | 'version' | 'createdAtMs'>;

export interface SealedSecret extends SecretRecord {
  /** Generation of the key that encrypted the value. */
  generation: number;
  /** The encrypted value. */
  sealed: string;
}

export interface SecretPut {
  vaultId: string;
  /** The generation of the vault that the secrets were encrypted for. All secrets have it. */
  generation: number;
  /** Each has the next version of the stored one, or 1. */
  secrets: readonly SealedSecret[];
  /** Maximum secrets of the vault. */
  maxSecrets: number;
}

/** `vault`: there is none. `stale`: another write came first, so the caller reads again. `limit`: too many secrets. */
export type PutRefusal = 'vault' | 'stale' | 'limit';

/** Vaults and their encrypted secrets. Changes no revision. */
export interface VaultStore {
  /**
   * Adds a vault with its first key.
   *
   * @returns the vault; for a workspace that has one already, that one; undefined if there is no such workspace
   */
  addVault(vault: VaultRecord, key: VaultKeyRecord): Promise<VaultRecord | undefined>;
  findVault(id: string): Promise<VaultRecord | undefined>;
  findWorkspaceVault(workspaceId: string): Promise<VaultRecord | undefined>;
  /** Also deletes its keys and secrets. @returns whether it existed */
  deleteVault(id: string): Promise<boolean>;
  /** Lists by id. */
  listVaults(query: { after?: string | undefined; limit: number }): Promise<VaultRecord[]>;

  findVaultKey(vaultId: string, generation: number): Promise<VaultKeyRecord | undefined>;
  /** Lists the oldest generation first. */
  listVaultKeys(vaultId: string): Promise<VaultKeyRecord[]>;
  /** Counts the keys of all vaults by the master key that they need. */
  countVaultKeys(): Promise<{ masterKeyId: string; keys: number }[]>;
  /** Lists keys that need this master key, by vault and generation. */
  listWrappedKeys(query: { masterKeyId: string; limit: number }): Promise<VaultKeyRecord[]>;
  /** Replaces a key that still needs that master key. @returns whether it did */
  rewrapVaultKey(key: VaultKeyRecord, masterKeyIdBefore: string): Promise<boolean>;
  /** Adds the next generation, for new values. @returns false if another process has added it, or the vault was deleted */
  addVaultKey(key: VaultKeyRecord): Promise<boolean>;
  /** Deletes the keys before the current generation that no secret needs. */
  deleteUnusedKeys(vaultId: string): Promise<void>;

  /** Lists by name. */
  listSecrets(query: { vaultId: string } & Page): Promise<SecretRecord[]>;
  /** Lists the vaults that have a secret of each name. @param host only secrets that are bound to it */
  listSecretNames(vaultIds: readonly string[], host?: string): Promise<SecretName[]>;
  /** Finds those that exist, by name. */
  findSecrets(vaultId: string, names: readonly string[]): Promise<SealedSecret[]>;
  /** Adds or replaces all of them, or none. Records an audit entry for each. @returns why not; undefined: it did */
  putSecrets(put: SecretPut, change: Change): Promise<PutRefusal | undefined>;
  /** Records an audit entry. @returns whether it existed */
  deleteSecret(vaultId: string, name: string, change: Change): Promise<boolean>;
  /** Lists secrets of earlier generations. */
  listStaleSecrets(query: { vaultId: string; generation: number; limit: number }): Promise<SealedSecret[]>;
  /** Replaces the encrypted value of the same version. @returns false if it was written or deleted meanwhile */
  resealSecret(secret: SealedSecret): Promise<boolean>;
}
