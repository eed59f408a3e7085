import { randomUUID } from 'node:crypto';
import type { VaultRecord } from '../platform/storage/ports/vaults.ts';
import type { VaultParts } from './secrets.ts';
import { createVaultKey } from './vault-keys.ts';

/** Creates a vault with its keys. @returns the one that exists; undefined: there is no such workspace */
export function createVault(
  { vaults, masterKeys, now }: VaultParts,
  { id = randomUUID(), kind, workspaceId }: Pick<VaultRecord, 'kind' | 'workspaceId'> & { id?: string },
): Promise<VaultRecord | undefined> {
  using key = createVaultKey(id);
  const vault = { id, workspaceId, kind, generation: key.generation, createdAtMs: now() };
  return vaults.addVault(vault, key.wrap(masterKeys.current));
}
