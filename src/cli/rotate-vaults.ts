import { ALERT_SEAL, resealWebhooks } from '../alerts/alert-settings.ts';
import { countLockedKeys, openVaultOnce } from '../compose/open-vault.ts';
import type { MasterKeyTexts } from '../compose/read-master-keys.ts';
import type { LoadedConfig } from '../config/load.ts';
import { currentTimeMs } from '../domain/clock.ts';
import type { ManagementStore } from '../platform/storage/ports/management.ts';
import { rewrapVaultKeys, rotateAllVaults } from '../vault/rotate.ts';
import { createTextSeal } from '../vault/text-seal.ts';
import { requireStore, withStore } from './open-store.ts';
import { readNeededMasterKeys } from './read-needed-master-keys.ts';
import { CommandError, type Terminal } from './terminal.ts';

/** Gives all vaults new data keys, or encrypts their data keys and the webhooks of alerts with the current master key. */
export async function rotateVaults(
  { stderr }: Terminal,
  loaded: LoadedConfig,
  { masterKey }: { masterKey?: boolean },
): Promise<void> {
  requireStore(loaded.config);
  const texts = readNeededMasterKeys(loaded);
  await withStore({ config: loaded.config, stderr }, async ({ vaults, management }) => {
    const parts = openVaultOnce(vaults, texts);
    if (!masterKey) {
      stderr.write(`New data keys for ${count(await rotateAllVaults(parts), 'vault')}.\n`);
      return;
    }
    const rewrapped = await rewrapVaultKeys(parts);
    stderr.write(`Encrypted ${count(rewrapped, 'key')} with the current master key.\n`);
    const webhooks = await resealAlerts(management, texts);
    if (webhooks.resealed > 0) {
      stderr.write(`Encrypted ${count(webhooks.resealed, 'webhook')} of alerts with the current master key.\n`);
    }
    const keys = await countLockedKeys(parts);
    const locked = [
      ...(keys > 0 ? [count(keys, 'key')] : []),
      ...(webhooks.locked.length > 0 ? [`${count(webhooks.locked.length, 'webhook')} of alerts`] : []),
    ];
    if (locked.length > 0) {
      const remedy = 'Set secrets.previous_master_key to the one that they need, and run this again.';
      throw new CommandError(`${locked.join(' and ')} cannot be opened with either master key. ${remedy}`);
    }
  });
}

async function resealAlerts(management: ManagementStore, { current, previous }: MasterKeyTexts) {
  const seals = {
    current: createTextSeal({ current, previous: undefined }, ALERT_SEAL),
    both: createTextSeal({ current, previous }, ALERT_SEAL),
  };
  const found = resealWebhooks(await management.listAlertSettings(), seals);
  if (found.resealed.length === 0) return { resealed: 0, locked: found.locked };
  return management.change({ atMs: currentTimeMs(), actorKeyHash: null }, async (transaction) => {
    // Another process may have changed one.
    const { resealed, locked } = resealWebhooks(await transaction.listAlertSettings(), seals);
    for (const setting of resealed) await transaction.putAlertSetting(setting);
    await transaction.record({
      action: 'alerts.webhooks_reseal',
      objectKind: 'alert settings',
      objectId: 'webhooks',
      workspaceId: null,
      changes: {},
    });
    return { resealed: resealed.length, locked };
  });
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;
