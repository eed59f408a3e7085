import { createMasterKeys, findMasterKey } from '../vault/master-keys.ts';
import { currentTimeMs } from '../domain/clock.ts';
import type { VaultStore } from '../platform/storage/ports/vaults.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import type { VaultParts } from '../vault/secrets.ts';
import type { MasterKeyTexts } from './read-master-keys.ts';

export interface OpenVaultParts {
  vaults: VaultStore;
  texts: MasterKeyTexts;
  log: WriteLog;
  /** Whether it reports vaults that no master key opens. One of several workers does so for all. */
  reports: boolean;
}

/** Opens the vaults of workspaces and interns. */
export function openVault({ vaults, texts, log, reports }: OpenVaultParts): VaultParts {
  const parts = openVaultOnce(vaults, texts);
  const report = async (): Promise<void> => {
    const keys = await countLockedKeys(parts);
    if (keys > 0) log('vaults locked', { keys });
  };
  // A store that is down is reported by everything else.
  if (reports) void report().catch(() => {});
  return parts;
}

/** Opens the vaults for one command. */
export const openVaultOnce = (vaults: VaultStore, { current, previous }: MasterKeyTexts): VaultParts => ({
  vaults,
  masterKeys: createMasterKeys(current, previous),
  now: currentTimeMs,
});

/** Counts the keys of vaults that neither master key opens. */
export async function countLockedKeys({
  vaults,
  masterKeys,
}: Pick<VaultParts, 'vaults' | 'masterKeys'>): Promise<number> {
  const counts = await vaults.countVaultKeys();
  return counts
    .filter(({ masterKeyId }) => !findMasterKey(masterKeys, masterKeyId))
    .reduce((sum, { keys }) => sum + keys, 0);
}
