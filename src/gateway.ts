import { readFileSync } from 'node:fs';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { accessTopic } from './access/access.ts';
import { applyBootstrap, createFirstKeys } from './access/bootstrap.ts';
import { createEndUserHash } from './access/hash-end-user.ts';
import type { OrphanedRequest } from './access/rate-limits.ts';
import { assemblePipelines } from './compose/assemble-pipelines.ts';
import { buildModels, type ConfiguredModels } from './compose/build-models.ts';
import { createEdge } from './compose/create-edge.ts';
import { findWires } from './compose/find-wires.ts';
import { openAccounts } from './compose/open-accounts.ts';
import { openAccounting } from './compose/open-accounting.ts';
import { openBus } from './compose/open-bus.ts';
import { openClock } from './compose/open-clock.ts';
import { openStorage } from './compose/open-storage.ts';
import { FLUSH_MS, SHUTDOWN_GRACE_MS, longestRequestMs } from './compose/time-limits.ts';
import { listSecrets } from './config/list-secrets.ts';
import type { Config } from './config/schema.ts';
import { coalesce } from './domain/coalesce.ts';
import { GatewayError } from './domain/errors.ts';
import type { LedgerEntry } from './domain/ledger-entry.ts';
import { createOpenRequests } from './http/open-requests.ts';
import { writeUrl } from './http/write-url.ts';
import { readMasterKey, lockDataFolder, lockFolder } from './platform/data-folder/data-folder.ts';
import { releaseIdleMemory } from './platform/idle-memory.ts';
import type { Storage } from './platform/storage/storage.ts';
import type { MetricFamily } from './platform/telemetry/exposition.ts';
import { isPretty, loadLogFormat } from './platform/telemetry/log-format.ts';
import type { WriteLog } from './platform/telemetry/log-messages.ts';
import { openLog } from './platform/telemetry/open-log.ts';
import { openTelemetry } from './platform/telemetry/telemetry.ts';
import { withTimeout } from './platform/with-timeout.ts';
import { Health } from './routing/health.ts';
import { InFlight } from './routing/in-flight.ts';
import { shareMemory } from './routing/share-memory.ts';
import { StickyMemory } from './routing/sticky.ts';
import { readRouterSettings, seededRandom } from './routing/routing-context.ts';
import { createStrategyTable } from './routing/strategy-table.ts';
import { type PrimaryService, type AssignedSlot, serviceNames } from './workers/services.ts';

export interface GatewayOptions {
  config: Config;
  /** Made when absent. Holds the embedded store, the journal and the master key. */
  dataDir: string;
  /** In a worker: the primary has the data folder and the embedded store, and looks after schema, bootstrap and first keys. */
  slot?: AssignedSlot;
}

export interface Gateway {
  /**
   * Opens the store and listens.
   *
   * @returns the URL, and on the very first start the two keys, whose text is never known again
   * @throws with a message for people when the port, the folder or the store cannot be had
   */
  start(): Promise<{ url: string; firstKeys?: { inference: string; management: string } }>;
  /** In place of `start` where somebody else listens. @returns serves a connection */
  startBehind(): Promise<(connection: Socket) => void>;
  /** Takes over what can change while running; the addresses, the store and the secrets stay as they are. */
  reload(config: Config): Promise<void>;
  /** The first half of it. @returns the second, which cannot fail; without it nothing changes */
  prepareReload(config: Config): Promise<() => Promise<void>>;
  /** Reads keys and limits anew. @throws the store's error */
  refreshAccess(): Promise<void>;
  /** Frees what requests had open whose process has ended, where that outlives it. */
  release(ended: readonly OrphanedRequest[]): Promise<void>;
  /** Resolves when all that was booked and kept so far is in the store. @throws the store's error */
  flush(): Promise<void>;
  /** What it has counted. */
  collectMetrics(): MetricFamily[];
  /** Those of its numbers that only grow. */
  collectCounters(): MetricFamily[];
  /** Writes a line into its log. */
  log: WriteLog;
  /** Takes no new work, lets open requests finish up to `server.shutdown_grace_ms`, flushes, closes. */
  close(): Promise<void>;
  readonly storage: Storage;
}

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/** Connections to PostgreSQL of one worker. */
const POOL_OF_A_WORKER = 5;

/**
 * The composition root: configuration → adapters → gateway, in the order in which they lean on one another. This file and
 * those in `compose/` alone name concrete adapters.
 */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const resources = new AsyncDisposableStack(); // what must be given back, the last first
  try {
    return await assemble(options, resources);
  } catch (error) {
    await resources.disposeAsync();
    throw error;
  }
}

async function assemble(
  { config: initial, dataDir, slot }: GatewayOptions,
  resources: AsyncDisposableStack,
): Promise<Gateway> {
  let live = initial;
  const config = (): Config => live;
  const lines = openLog({
    level: live.log.level,
    secrets: listSecrets(live),
    fields: slot && { worker: slot.slot },
    format: await loadLogFormat(live.log.format),
  });
  const { write: log, mask } = lines;
  const warn = (detail: string): void => log('catalog file skipped', { detail });
  const logOrphanedKeys = (detail: string | undefined): void =>
    void (detail && log('bootstrap keys orphaned', { detail }));
  const journal = join(dataDir, 'journal', slot?.journal ?? '');
  resources.defer(slot ? lockFolder(journal)! : lockDataFolder(dataDir)); // nobody else knows this folder of a worker's
  const storage = await openStorage({
    url: live.storage.url,
    dataDir,
    primary: slot?.primary,
    poolSize: slot && POOL_OF_A_WORKER,
  });
  resources.defer(() =>
    withTimeout(SHUTDOWN_GRACE_MS, storage.close()).catch((error) => log('store close failed', { err: error })),
  );
  const clock = await openClock({ storage, url: live.storage.url, log }, resources);
  if (!slot) {
    await storage.migrate();
    logOrphanedKeys(await applyBootstrap(storage.access, live.bootstrap));
  }
  const left: LedgerEntry[] = [];
  const accounting = await openAccounting(
    {
      ...{
        config,
        storage,
        journal,
        quarantineFolder: join(dataDir, 'journal'),
        log,
        mask,
        takesOrphanedJournals: !slot,
        cleans: !slot?.slot,
      },
      onOrphaned: (entries) => void left.push(...entries),
    },
    resources,
  );

  const health = new Health(Date.now, live.routing.outage_ms);
  const inFlight = new InFlight();
  const sticky = new StickyMemory(() => config().routing.sticky_ms);
  const open = createOpenRequests();
  const telemetry = await openTelemetry({
    log: lines,
    logsRequests: () => config().log.requests ?? isPretty(initial.log.format),
    sources: {
      isStable: (id) => health.view({ id })?.isStable ?? true,
      openRequests: () => open.count('request'),
      openStreams: () => open.count('stream'),
      journalEntries: () => accounting.ledger.waiting,
      contentsDropped: () => accounting.contents.dropped,
      contentBytes: () => accounting.contents.pendingBytes,
      version,
    },
    tracing: readTracing(live.telemetry),
  });
  resources.defer(() =>
    withTimeout(FLUSH_MS, telemetry.close()).catch((error) => log('trace flush failed', { err: error })),
  );

  const accounts = await openAccounts(
    { config, storage, accounting, telemetry, log, primary: slot?.primary },
    resources,
  );
  const { access } = accounts;
  void accounts.release(left.splice(0));
  const bus = await openBus({
    url: live.storage.url,
    primary: slot?.primary,
    onTrouble: (error) => log('bus disconnected', { err: error }),
    onRecovery: () => log('bus reconnected'),
  });
  resources.defer(() => withTimeout(SHUTDOWN_GRACE_MS, bus.close()).catch(() => {})); // an unreachable store delays no shutdown
  // If it fails, the next poll tries again and logs the failure.
  bus.subscribe(
    accessTopic,
    coalesce(() => accounts.refresh().catch(() => {})),
  );
  resources.defer(shareMemory({ health, sticky, bus }).close);

  const build = async (from: Config, before?: ConfiguredModels): Promise<ConfiguredModels> =>
    buildModels(from, {
      ...{ dataDir, warn, before: before?.providers },
      workspaces: await storage.access.listWorkspaces(),
    });
  let models = await build(live);
  const createContext = () => ({
    catalog: models.catalog,
    health,
    inFlight,
    sticky,
    strategyOf: createStrategyTable(live.routing),
    routers: readRouterSettings(live.routers, accounting.traffic),
    random: live.routing.seed === undefined ? Math.random : seededRandom(live.routing.seed),
  });
  let routingContext = createContext();

  const pipelines = assemblePipelines({
    config,
    models: () => models,
    routingContext: () => routingContext,
    hashEndUser: createEndUserHash(readMasterKey(dataDir, live.secrets.master_key)),
    accounting,
    accounts,
    telemetry,
    log,
  });
  let draining = false;
  const app = await createEdge({
    ...pipelines,
    ...{ config, health, accounts, accounting, storage, telemetry, open, log, version, bus, clock },
    models: () => models,
    routingContext: () => routingContext,
    isDraining: () => draining,
    primary: slot?.primary.use<PrimaryService>(serviceNames.primary),
  });

  function watchMemory(): void {
    resources.defer(releaseIdleMemory({ begun: () => open.begun, open: () => open.count('request') }));
  }
  async function prepareReload(next: Config): Promise<() => Promise<void>> {
    await access.refresh();
    const after = await build(next, models);
    return () => {
      const before = models.providers;
      const underWay = open.settled(longestRequestMs(live));
      models = after;
      live = next;
      routingContext = createContext();
      lines.setLevel(next.log.level);
      lines.addSecrets(listSecrets(next));
      // Not before: the next endpoint of a request under way may be one of these.
      void findWires(after.providers, log);
      void underWay.then(() => Promise.all(before.map((provider) => provider.close(false))));
      return accounts.spending.refreshLimits().catch(() => {}); // without a store the last limits stay; it is told every ten seconds
    };
  }

  return {
    storage,
    async start() {
      await app.listen({ host: live.server.host, port: live.server.port });
      watchMemory();
      void findWires(models.providers, log);
      const firstKeys = await createFirstKeys(storage.access); // once it listens: a port in use must not swallow them
      if (firstKeys) await access.refresh();
      const url = writeUrl(live.server.host, (app.server.address() as AddressInfo).port);
      return firstKeys ? { url, firstKeys } : { url };
    },
    async startBehind() {
      await app.ready();
      watchMemory();
      void findWires(models.providers, log);
      app.server.emit('listening'); // Node's server looks after time-outs and open connections from then on
      return (connection) => void app.server.emit('connection', connection);
    },
    async reload(next) {
      logOrphanedKeys(await applyBootstrap(storage.access, next.bootstrap));
      await (await prepareReload(next))();
    },
    prepareReload,
    refreshAccess: accounts.refresh,
    release: accounts.release,
    flush: accounting.flush,
    collectMetrics: telemetry.collect,
    collectCounters: telemetry.collectCounters,
    log,
    async close() {
      draining = true; // the port stays open for a while: whoever comes is told to go elsewhere
      await open.settled(live.server.shutdown_grace_ms);
      open.abort(new GatewayError('unavailable', 'The gateway was shut down before the answer was complete.'));
      await open.settled(SHUTDOWN_GRACE_MS);
      const closed = app.close();
      app.server.closeAllConnections(); // clients that do not take their last words
      await closed;
      await open.settled(SHUTDOWN_GRACE_MS); // what these were told is booked, too
      await Promise.all(models.providers.map((provider) => provider.close(true)));
      await resources.disposeAsync();
    },
  };
}

function readTracing({ otlp_endpoint: endpoint, headers = {}, sampling, service_name }: Config['telemetry']) {
  return endpoint === undefined ? undefined : { endpoint, headers, sampling, serviceName: service_name, version };
}
