import { currentTimeMs } from '../domain/clock.ts';
import { createTimedId } from '../domain/ids.ts';
import type { AlertStore } from '../platform/storage/ports/alerts.ts';
import type { AlertSettingsReader } from './alert-settings.ts';
import type { Alert } from './find-alerts.ts';
import { ALERT_JOB, type AlertJob } from './send-alert.ts';

/**
 * Raises an alert, and creates the jobs that send it.
 *
 * @param webhooks ids; absent: all
 * @returns whether it was raised, and not in its quiet time
 */
export type RaiseAlert = (alert: Alert, webhooks?: readonly string[]) => Promise<boolean>;

export const createRaiseAlert =
  (store: Pick<AlertStore, 'raiseAlert'>, settings: Pick<AlertSettingsReader, 'read'>): RaiseAlert =>
  async ({ isOnce, data, ...alert }, wanted) => {
    const { webhooks, quiet_minutes } = await settings.read();
    const atMs = currentTimeMs();
    const jobs = (wanted ?? webhooks.map(({ id }) => id)).map((webhook) => {
      const payload: AlertJob = { webhook, atMs, alert: { ...alert, data } };
      return { id: createTimedId('alert_'), kind: ALERT_JOB, payload: JSON.stringify(payload), dueAtMs: atMs };
    });
    const quietMs = isOnce ? Number.POSITIVE_INFINITY : quiet_minutes * 60_000;
    return store.raiseAlert({ ...alert, data: JSON.stringify(data), atMs }, quietMs, jobs);
  };
