import type { Config } from '../config/schema.ts';
import { parseJson } from '../domain/parse-json.ts';
import type { AlertSetting, AlertSettingReader } from '../platform/storage/ports/alert-settings.ts';
import type { TextSeal } from '../vault/text-seal.ts';

/** The purpose of the seal of webhooks. */
export const ALERT_SEAL = 'alerts';
export const SETTINGS = 'settings';
export const WEBHOOK = 'webhook:';

export interface AlertWebhook {
  id: string;
  url: string;
  format: 'json' | 'slack';
  secret?: string | undefined;
  /** Whether it was added by API. The rules of `outbound` apply to its URL. */
  isStored: boolean;
  /** Whether the master key was replaced, and the previous one is not configured. `url` is then empty. */
  isLocked?: boolean;
}

/** The settings of the configuration with the changes that were made by API. */
export interface AlertSettings extends Omit<Config['alerts'], 'webhooks'> {
  webhooks: readonly AlertWebhook[];
  /** Names of the settings that were changed by API. */
  changed: readonly string[];
}

/** A webhook as the store has it. */
export interface StoredWebhook {
  format: 'json' | 'slack';
  /** URL and secret as JSON, sealed. */
  sealed: string;
}

export interface AlertSettingsReader {
  /** @throws the store's error */
  read(): Promise<AlertSettings>;
  /** The settings that were read last. */
  readonly latest: AlertSettings;
}

/** Combines the configuration with what the store has. */
export function createAlertSettings(
  store: AlertSettingReader,
  config: () => Config['alerts'],
  seal: TextSeal,
): AlertSettingsReader {
  let changes: Record<string, unknown> = {};
  let stored: readonly AlertWebhook[] = [];
  const combine = (): AlertSettings => {
    const { webhooks, ...settings } = config();
    const configured = webhooks.map((webhook) => ({ ...webhook, isStored: false }));
    const ids = new Set(webhooks.map(({ id }) => id));
    return {
      ...settings,
      ...changes,
      changed: Object.keys(changes),
      webhooks: [...configured, ...stored.filter(({ id }) => !ids.has(id))],
    };
  };
  return {
    async read() {
      const rows = await store.listAlertSettings();
      changes = {};
      stored = rows.flatMap(({ name, value }): AlertWebhook[] => {
        if (name === SETTINGS) changes = parseJson(value) as Record<string, unknown>; // it was checked
        return name.startsWith(WEBHOOK) ? [openWebhook(name.slice(WEBHOOK.length), value, seal)] : [];
      });
      return combine();
    },
    get latest() {
      return combine();
    },
  };
}

function openWebhook(id: string, value: string, seal: TextSeal): AlertWebhook {
  const { format, sealed } = parseJson(value) as StoredWebhook; // this gateway has written it
  const opened = seal.open(id, sealed);
  if (opened === undefined) return { id, url: '', format, isStored: true, isLocked: true };
  return { ...(parseJson(opened) as { url: string; secret?: string }), id, format, isStored: true };
}

/**
 * Finds the stored webhooks that need another master key than the current one.
 *
 * @param seals one with the current master key alone, and one that also has the previous one
 * @returns the settings to store, and the ids of webhooks that no master key opens
 */
export function resealWebhooks(
  rows: readonly AlertSetting[],
  { current, both }: { current: TextSeal; both: TextSeal },
): { resealed: AlertSetting[]; locked: string[] } {
  const resealed: AlertSetting[] = [];
  const locked: string[] = [];
  for (const { name, value } of rows) {
    if (!name.startsWith(WEBHOOK)) continue;
    const id = name.slice(WEBHOOK.length);
    if (!openWebhook(id, value, current).isLocked) continue;
    const webhook = openWebhook(id, value, both);
    if (webhook.isLocked) locked.push(id);
    else resealed.push(sealWebhook(webhook, current));
  }
  return { resealed, locked };
}

export const sealWebhook = (
  { id, url, format, secret }: Omit<AlertWebhook, 'isStored'>,
  seal: TextSeal,
): AlertSetting => {
  const stored: StoredWebhook = { format, sealed: seal.seal(id, JSON.stringify({ url, secret })) };
  return { name: WEBHOOK + id, value: JSON.stringify(stored) };
};
