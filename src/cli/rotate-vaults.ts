import { countLockedKeys, openVaultOnce } from '../compose/open-vault.ts';
import type { LoadedConfig } from '../config/load.ts';
import { rewrapVaultKeys, rotateAllVaults } from '../vault/rotate.ts';
import { requireStore, withStore } from './open-store.ts';
import { readNeededMasterKeys } from './read-needed-master-keys.ts';
import { CommandError, type Terminal } from './terminal.ts';

/** Gives all vaults new data keys, or encrypts their data keys with the current master key. */
export async function rotateVaults(
  { stderr }: Terminal,
  loaded: LoadedConfig,
  { masterKey }: { masterKey?: boolean },
): Promise<void> {
  requireStore(loaded.config);
  const texts = readNeededMasterKeys(loaded);
  await withStore({ config: loaded.config, stderr }, async ({ vaults }) => {
    const parts = openVaultOnce(vaults, texts);
    if (!masterKey) {
      stderr.write(`New data keys for ${count(await rotateAllVaults(parts), 'vault')}.\n`);
      return;
    }
    const rewrapped = await rewrapVaultKeys(parts);
    stderr.write(`Encrypted ${count(rewrapped, 'key')} with the current master key.\n`);
    const locked = await countLockedKeys(parts);
    if (locked > 0) {
      const remedy = 'Set secrets.previous_master_key to the one that they need, and run this again.';
      throw new CommandError(`${count(locked, 'key')} cannot be opened with either master key. ${remedy}`);
    }
  });
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;
