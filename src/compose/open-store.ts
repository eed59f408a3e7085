import { join } from 'node:path';
import { listSecrets } from '../config/list-secrets.ts';
import type { Config } from '../config/schema.ts';
import type { ClockWatch } from '../platform/clock-watch.ts';
import { lockDataFolder, lockFolder } from '../platform/data-folder/data-folder.ts';
import type { Storage } from '../platform/storage/storage.ts';
import { joinOutages } from '../platform/telemetry/join-outages.ts';
import { loadLogFormat } from '../platform/telemetry/log-format.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import { type Log, openLog } from '../platform/telemetry/open-log.ts';
import { withTimeout } from '../platform/with-timeout.ts';
import type { LoadedPlugins } from './load-plugin-modules.ts';
import { openClock } from './open-clock.ts';
import { openOutageReports } from './open-outage-reports.ts';
import { openPluginModules } from './open-plugin-modules.ts';
import { isSharedStore, openStorage } from './open-storage.ts';
import type { GatewayOptions } from './options.ts';
import { runBootstrap } from './run-bootstrap.ts';
import { PING_MS, SHUTDOWN_GRACE_MS } from './time-limits.ts';

/** The log, the operator's plugins and the store. */
export interface OpenedStore {
  lines: Log;
  log: WriteLog;
  modules: LoadedPlugins;
  /** Folder of the journal of this process. */
  journal: string;
  storage: Storage;
  pingStore: () => ReturnType<Storage['ping']>;
  storeLostSinceMs: () => number | undefined;
  /** Undefined: only the clock of this host counts. */
  clock: ClockWatch | undefined;
  /** Stores the keys, workspaces and guardrails of a configuration. */
  bootstrap(config: Config): Promise<void>;
}

/** Maximum connections of one worker to PostgreSQL. */
const POOL_OF_A_WORKER = 5;

/**
 * Opens the store, with the schema and the `bootstrap` of the configuration.
 *
 * @param resources collects the resources to close at the end
 * @throws with a message for the operator if the folder or the store is unavailable
 */
export async function openStore(
  { config, dataDir, slot, ownsProcess, writeLog }: GatewayOptions,
  resources: AsyncDisposableStack,
): Promise<OpenedStore> {
  const { url } = config.storage;
  const lines = openLog({
    level: config.log.level,
    secrets: listSecrets(config),
    fields: slot && { worker: slot.slot },
    ...(writeLog ? { write: writeLog } : { format: await loadLogFormat(config.log.format) }),
  });
  const modules = await openPluginModules(
    { modules: config.plugins.modules, log: lines.write, keepsProcess: ownsProcess },
    resources,
  );
  const journal = join(dataDir, 'journal', slot?.journal ?? '');
  // The folder of a worker is unique, so the lock succeeds.
  resources.defer(slot ? lockFolder(journal)! : lockDataFolder(dataDir));
  const storage = await openStorage({ url, dataDir, primary: slot?.primary, poolSize: slot && POOL_OF_A_WORKER });
  const pingStore = () => withTimeout(PING_MS, storage.ping());
  const {
    write: log,
    close: endOutages,
    storeLostSinceMs,
  } = joinOutages({
    log: lines.write,
    reports: openOutageReports(lines.write, slot?.primary),
    ping: pingStore,
    hasCounters: config.counters.url === '' && isSharedStore(url),
  });
  resources.defer(() =>
    withTimeout(SHUTDOWN_GRACE_MS, storage.close()).catch((error) => log('store close failed', { err: error })),
  );
  resources.defer(endOutages);
  const clock = await openClock({ storage, url, log, corrects: ownsProcess }, resources);
  const bootstrap = async (wanted: Config): Promise<void> => {
    const keys = await runBootstrap(storage, wanted, modules.settings);
    if (keys) log('bootstrap keys disabled', { keys });
  };
  if (!slot) {
    await storage.migrate();
    if (!isSharedStore(url)) {
      // Those of a process that was killed.
      await storage.containers.releaseAllLeases();
      await storage.jobs.releaseAllJobs();
    }
    await bootstrap(config);
  }
  return { lines, log, modules, journal, storage, pingStore, storeLostSinceMs, clock, bootstrap };
}
