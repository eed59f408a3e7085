import type { Config } from '../config/schema.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { createTimedId } from '../domain/ids.ts';
import type { AlertStore } from '../platform/storage/ports/alerts.ts';
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
  (store: Pick<AlertStore, 'raiseAlert'>, settings: () => Config['alerts']): RaiseAlert =>
  async ({ isOnce, data, ...alert }, webhooks = settings().webhooks.map(({ id }) => id)) => {
    const atMs = currentTimeMs();
    const jobs = webhooks.map((webhook) => {
      const payload: AlertJob = { webhook, atMs, alert: { ...alert, data } };
      return { id: createTimedId('alert_'), kind: ALERT_JOB, payload: JSON.stringify(payload), dueAtMs: atMs };
    });
    const quietMs = isOnce ? Number.POSITIVE_INFINITY : settings().quiet_minutes * 60_000;
    return store.raiseAlert({ ...alert, data: JSON.stringify(data), atMs }, quietMs, jobs);
  };
