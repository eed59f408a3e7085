import type { VaultStore } from './ports/vaults.ts';
import type { Database } from './tables/database.ts';
import {
  deleteSecretRow,
  findSecretRows,
  listSecretNames,
  listSecretRows,
  listStaleSecrets,
  putSecretRows,
  resealSecretRow,
} from './tables/vault-secrets.ts';
import {
  addVault,
  addVaultKey,
  countVaultKeys,
  deleteUnusedKeys,
  deleteVaultRow,
  findVaultKey,
  findVaultRow,
  findWorkspaceVault,
  listWrappedKeys,
  listVaultKeys,
  listVaultRows,
  rewrapVaultKey,
} from './tables/vaults.ts';

/** Creates the store of vaults over either dialect. */
export const createVaultStore = (db: Database): VaultStore => ({
  addVault: (vault, key) => addVault(db, vault, key),
  findVault: (id) => findVaultRow(db, id),
  findWorkspaceVault: (workspaceId) => findWorkspaceVault(db, workspaceId),
  deleteVault: (id) => deleteVaultRow(db, id),
  listVaults: (query) => listVaultRows(db, query),
  findVaultKey: (vaultId, generation) => findVaultKey(db, vaultId, generation),
  listVaultKeys: (vaultId) => listVaultKeys(db, vaultId),
  countVaultKeys: () => countVaultKeys(db),
  listWrappedKeys: (query) => listWrappedKeys(db, query),
  rewrapVaultKey: (key, masterKeyIdBefore) => rewrapVaultKey(db, key, masterKeyIdBefore),
  addVaultKey: (key) => addVaultKey(db, key),
  deleteUnusedKeys: (vaultId) => deleteUnusedKeys(db, vaultId),
  listSecrets: (query) => listSecretRows(db, query),
  listSecretNames: (vaultIds, host) => listSecretNames(db, vaultIds, host),
  findSecrets: (vaultId, names) => findSecretRows(db, vaultId, names),
  putSecrets: (put, change) => putSecretRows(db, put, change),
  deleteSecret: (vaultId, name, change) => deleteSecretRow(db, vaultId, name, change),
  listStaleSecrets: (query) => listStaleSecrets(db, query),
  resealSecret: (secret) => resealSecretRow(db, secret),
});
