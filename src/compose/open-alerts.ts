import { hostname } from 'node:os';
import { ALERT_SEAL, type AlertSettingsReader, createAlertSettings } from '../alerts/alert-settings.ts';
import { createAlertFinder } from '../alerts/find-alerts.ts';
import { createRaiseAlert, type RaiseAlert } from '../alerts/raise-alert.ts';
import { ALERT_JOB, createAlertWork } from '../alerts/send-alert.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { runJobs } from '../platform/jobs/run-jobs.ts';
import { createServiceExchange } from '../platform/outbound/exchange.ts';
import { withTimeout } from '../platform/with-timeout.ts';
import { createTextSeal, type TextSeal } from '../vault/text-seal.ts';
import type { Base } from './open-base.ts';
import type { LiveModels } from './open-models.ts';
import { SHUTDOWN_GRACE_MS } from './time-limits.ts';

const EVERY_MS = 30_000;
/** Alerts that are sent at the same time. */
const PARALLEL = 50;
/** Time for which alerts are listed. */
const KEEP_MS = 400 * 86_400_000;

const CONNECT_MS = 5000;

/** What the routes of alerts need. */
export interface AlertParts {
  raise: RaiseAlert;
  settings: AlertSettingsReader;
  seal: TextSeal;
}

/** Opens the alerts. @param resources collects the resources to close at the end */
export function openAlerts(
  { config, storage, log, health, isFirst, options, masterKeys, outbound }: Base,
  live: Pick<LiveModels, 'models'>,
  resources: AsyncDisposableStack,
): AlertParts {
  const seal = createTextSeal(masterKeys, ALERT_SEAL);
  const settings = createAlertSettings(storage.management, () => config().alerts, seal);
  const raise = createRaiseAlert(storage.alerts, settings);
  const parts = { raise, settings, seal };
  if (!isFirst) return parts; // one of several workers looks for alerts and sends them

  const runner = runJobs({
    store: storage.jobs,
    holder: `${hostname()}/${process.pid}`,
    now: currentTimeMs,
    elapsed: () => performance.now(),
    kinds: [
      {
        kind: ALERT_JOB,
        work: createAlertWork({
          readWebhooks: async () => (await settings.read()).webhooks,
          send: createServiceExchange(CONNECT_MS),
          sendOutbound: outbound.exchange,
          now: currentTimeMs,
          log,
        }),
        maxOwned: () => (settings.latest.webhooks.length > 0 ? PARALLEL : 0),
      },
    ],
    onTrouble(error, job) {
      if (job) log('job failed', { job: job.id, err: error });
      else log('jobs unavailable', { err: error });
    },
  });
  const find = createAlertFinder({
    settings: () => settings.latest,
    limits: () => ({ access: storage.access, management: storage.management, budgets: config().budgets }),
    ledger: storage.ledger,
    endpoints: () =>
      live.models().catalog.endpoints.map((endpoint) => {
        const { isStable = true, hasFailedLast = false } = health.view(endpoint) ?? {};
        return { id: endpoint.id, model: endpoint.model, provider: endpoint.provider.name, isStable, hasFailedLast };
      }),
  });
  let looking: Promise<void> | undefined;
  async function look(): Promise<void> {
    await settings.read();
    let isRaised = false;
    for (const alert of await find(currentTimeMs())) isRaised = (await raise(alert)) || isRaised;
    if (isRaised) runner.notify();
    await storage.alerts.deleteAlertsBefore(currentTimeMs() - KEEP_MS);
  }
  const timer = setInterval(() => {
    looking ??= look()
      .catch((error) => log('alerts not checked', { err: error }))
      .finally(() => {
        looking = undefined;
      });
  }, options.alertMs ?? EVERY_MS).unref();
  // An unreachable store must not delay a shutdown.
  resources.defer(() =>
    withTimeout(SHUTDOWN_GRACE_MS, Promise.all([runner.close(), looking])).then(
      () => {},
      (error) => log('jobs unavailable', { err: error }),
    ),
  );
  resources.defer(() => clearInterval(timer));
  return parts;
}
