import { readFileSync } from 'node:fs';
import type { AddressInfo, Socket } from 'node:net';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { accessTopic } from './access/access.ts';
import { createFirstKeys } from './access/bootstrap.ts';
import { createEndUserHash } from './access/hash-end-user.ts';
import { createTextSigner } from './access/sign-text.ts';
import type { OrphanedRequest } from './access/rate-limits.ts';
import { assemblePipelines } from './compose/assemble-pipelines.ts';
import { buildModels, type ConfiguredModels } from './compose/build-models.ts';
import { createContentGuardrails } from './compose/create-content-guardrails.ts';
import { createEdge } from './compose/create-edge.ts';
import { createModelDiscovery } from './compose/discover-models.ts';
import { findWires } from './compose/find-wires.ts';
import { openAccounts } from './compose/open-accounts.ts';
import { openAccounting } from './compose/open-accounting.ts';
import { openFileIndex } from './compose/open-file-index.ts';
import { createGatewayOutbound } from './compose/create-gateway-outbound.ts';
import { openFiles } from './compose/open-files.ts';
import { openBus } from './compose/open-bus.ts';
import { openOutageReports } from './compose/open-outage-reports.ts';
import { type InternTimes, openInterns } from './compose/open-interns.ts';
import { openContainers } from './compose/open-containers.ts';
import { hashHost } from './api/interns/host-proof.ts';
import { createResponseSockets } from './api/responses/socket/sockets.ts';
import { createReadinessCheck, type Readiness } from './api/health/readiness.ts';
import { createOwnSocket } from './compose/open-own-socket.ts';
import { openRuntime } from './compose/open-runtime.ts';
import { openSchedules } from './compose/open-schedules.ts';
import { openPluginModules } from './compose/open-plugin-modules.ts';
import { openClock } from './compose/open-clock.ts';
import { openVault } from './compose/open-vault.ts';
import { readMasterKeys } from './compose/read-master-keys.ts';
import { createInternVaults } from './vault/intern-vaults.ts';
import { createSummarySeal } from './vault/summary-seal.ts';
import { loadTools } from './compose/load-tools.ts';
import { isSharedStore, openStorage } from './compose/open-storage.ts';
import { runBootstrap } from './compose/run-bootstrap.ts';
import { DRAIN_MS, FLUSH_MS, PING_MS, POLLED_MS, SHUTDOWN_GRACE_MS, longestRequestMs } from './compose/time-limits.ts';
import { optimizeEarly } from './compose/tune-engine.ts';
import { listSecrets } from './config/list-secrets.ts';
import type { Config } from './config/schema.ts';
import { currentTimeMs } from './domain/clock.ts';
import { coalesce } from './domain/coalesce.ts';
import { GatewayError } from './domain/errors.ts';
import type { LedgerEntry } from './domain/ledger-entry.ts';
import { BodyBudget, defaultBodyMemory } from './http/body-budget.ts';
import { createOpenRequests } from './http/open-requests.ts';
import { writeUrl } from './http/write-url.ts';
import type { InternRuntime, InternVaults } from './interns/ports.ts';
import type { ManagementParts } from './management/parts.ts';
import { lockDataFolder, lockFolder } from './platform/data-folder/data-folder.ts';
import { releaseIdleMemory } from './platform/idle-memory.ts';
import type { SandboxDriver } from './platform/sandbox/sandbox.ts';
import type { Storage } from './platform/storage/storage.ts';
import type { MetricFamily } from './platform/telemetry/exposition.ts';
import { isPretty, loadLogFormat } from './platform/telemetry/log-format.ts';
import type { WriteLog } from './platform/telemetry/log-messages.ts';
import { joinOutages } from './platform/telemetry/join-outages.ts';
import { openLog } from './platform/telemetry/open-log.ts';
import { openTelemetry } from './platform/telemetry/telemetry.ts';
import { withTimeout } from './platform/with-timeout.ts';
import { Health } from './routing/health.ts';
import { InFlight } from './routing/in-flight.ts';
import { shareMemory } from './routing/share-memory.ts';
import { StickyMemory } from './routing/sticky.ts';
import { readRouterSettings, seededRandom } from './routing/routing-context.ts';
import { createStrategyTable } from './routing/strategy-table.ts';
import type { Containers } from './tools/containers.ts';
import { type PrimaryService, type AssignedSlot, serviceNames } from './workers/services.ts';

export interface GatewayOptions {
  config: Config;
  /** Created if absent. Contains the embedded store, the journal and the master key. */
  dataDir: string;
  /** The configuration file, if there is one. Commands in sandboxes cannot see it. */
  file?: string | undefined;
  /**
   * Only set in a worker. The primary owns the data folder and the embedded store, and handles migrations, bootstrap
   * and first keys.
   */
  slot?: AssignedSlot;
  /** How long records and spans are collected before they are stored or exported. Absent: the default of each. */
  gatherMs?: number | undefined;
  /** Replaces the sandbox driver of the configuration. */
  sandboxDriver?: SandboxDriver;
  /** Replaces the containers of the configuration. */
  containers?: Containers;
  /** Runs the agents of interns. */
  internRuntime?: InternRuntime;
  /** Has the vaults of interns. */
  internVaults?: InternVaults;
  /** Times of tests. */
  internTimes?: Partial<InternTimes>;
}

export interface Gateway {
  /**
   * Opens the store and listens.
   *
   * @returns the URL, and on the very first start the two keys, whose text is not stored
   * @throws with a message for the operator if the port, the folder or the store is unavailable
   */
  start(): Promise<{ url: string; firstKeys?: { inference: string; management: string } }>;
  /**
   * Replaces `start` if another process listens.
   *
   * @returns a function that serves a connection
   */
  startBehind(): Promise<(connection: Socket) => void>;
  /** Applies all settings that can change at run time, which excludes addresses, the store and secrets. */
  reload(config: Config): Promise<void>;
  /**
   * Runs the first half of a reload, which changes nothing.
   *
   * @returns the second half, which cannot fail
   */
  prepareReload(config: Config): Promise<() => Promise<void>>;
  /** Reloads keys and limits. @throws the store's error */
  refreshAccess(): Promise<void>;
  /** Releases the reservations of requests whose process has ended, if they outlive it. */
  release(ended: readonly OrphanedRequest[]): Promise<void>;
  /** Resolves when all entries and contents so far are in the store. @throws the store's error */
  flush(): Promise<void>;
  /** Finds whether this gateway accepts requests, and its problems. */
  checkReadiness(): Promise<Readiness>;
  /** Returns the metrics of this gateway. */
  collectMetrics(): MetricFamily[];
  /** Returns the counters of this gateway, the metrics that only increase. */
  collectCounters(): MetricFamily[];
  /** Writes to the log of this gateway. */
  log: WriteLog;
  /**
   * Begins a shutdown: `/ready` is a 503, and connections close after their next response. Requests are still served.
   *
   * @returns the time until `close`, in which load balancers notice
   */
  drain(): number;
  /** Rejects new requests, gives requests in flight `server.shutdown_grace_ms` to end, flushes and closes. */
  close(): Promise<void>;
  readonly storage: Storage;
}

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/** Maximum connections of one worker to PostgreSQL. */
const POOL_OF_A_WORKER = 5;

/**
 * The composition root: configuration → adapters → gateway, in the order of their dependencies. Only this file and
 * those in `compose/` name concrete adapters.
 */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const resources = new AsyncDisposableStack(); // released in reverse order
  try {
    const gateway = await assemble(options, resources);
    optimizeEarly(); // after the imports: V8 rejects cached code that was compiled with other flags
    return gateway;
  } catch (error) {
    await resources.disposeAsync();
    throw error;
  }
}

async function assemble(
  { config: initial, dataDir, file, slot, gatherMs, sandboxDriver, containers: replaced, ...given }: GatewayOptions,
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
  const { mask } = lines;
  const modules = await openPluginModules({ modules: live.plugins.modules, log: lines.write }, resources);
  const journal = join(dataDir, 'journal', slot?.journal ?? '');
  // The folder of a worker is unique, so the lock succeeds.
  resources.defer(slot ? lockFolder(journal)! : lockDataFolder(dataDir));
  const storage = await openStorage({
    url: live.storage.url,
    dataDir,
    primary: slot?.primary,
    poolSize: slot && POOL_OF_A_WORKER,
  });
  const pingStore = () => withTimeout(PING_MS, storage.ping());
  const {
    write: log,
    close: endOutages,
    storeLostSinceMs,
  } = joinOutages({
    log: lines.write,
    reports: openOutageReports(lines.write, slot?.primary),
    ping: pingStore,
    hasCounters: live.counters.url === '' && isSharedStore(live.storage.url),
  });
  const warn = (detail: string): void => log('catalog file skipped', { detail });
  const logDisabledKeys = (keys: string | undefined): void => void (keys && log('bootstrap keys disabled', { keys }));
  resources.defer(() =>
    withTimeout(SHUTDOWN_GRACE_MS, storage.close()).catch((error) => log('store close failed', { err: error })),
  );
  resources.defer(endOutages);
  const clock = await openClock({ storage, url: live.storage.url, log }, resources);
  if (!slot) {
    await storage.migrate();
    if (!isSharedStore(live.storage.url)) {
      // Those of a process that was killed.
      await storage.containers.releaseAllLeases();
      await storage.jobs.releaseAllJobs();
    }
    logDisabledKeys(await runBootstrap(storage, live, modules.settings));
  }
  const left: LedgerEntry[] = [];
  const accounting = await openAccounting(
    {
      config,
      storage,
      journal,
      quarantineFolder: join(dataDir, 'journal'),
      log,
      mask,
      takesOrphanedJournals: !slot,
      cleans: !slot?.slot,
      gatherMs,
      onOrphaned: (entries) => void left.push(...entries),
    },
    resources,
  );

  const files = await openFiles(
    { config, files: storage.files, dataDir, log, isFirst: !slot, cleans: !slot?.slot },
    resources,
  );
  if (!slot?.slot) openFileIndex({ config, files, passages: storage.passages, log }, resources);
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
    callers: live.server.metrics_callers,
    tracing: readTracing(live.telemetry, gatherMs),
  });
  resources.defer(() =>
    withTimeout(FLUSH_MS, telemetry.close()).catch((error) => log('trace flush failed', { err: error })),
  );

  const contentGuardrails = createContentGuardrails(config, log);
  const accounts = await openAccounts(
    {
      config,
      storage,
      accounting,
      telemetry,
      log,
      primary: slot?.primary,
      prepareFilters: contentGuardrails.prepare,
    },
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
  // An unreachable store must not delay a shutdown.
  resources.defer(() => withTimeout(SHUTDOWN_GRACE_MS, bus.close()).catch(() => {}));
  // If the refresh fails, the next poll retries and logs the failure.
  bus.subscribe(
    accessTopic,
    coalesce(() => accounts.refresh().catch(() => {})),
  );
  resources.defer(shareMemory({ health, sticky, bus }).close);
  const outbound = createGatewayOutbound(config, log);
  const opened = await openContainers(
    {
      config,
      store: storage.containers,
      files,
      dataDir,
      file,
      bus,
      log,
      outbound,
      driver: sandboxDriver,
      numbers: telemetry.sandboxes,
      cleans: !slot?.slot,
      slot: slot?.slot ?? 0,
    },
    resources,
  );

  const build = async (from: Config, before?: ConfiguredModels): Promise<ConfiguredModels> =>
    buildModels(from, {
      dataDir,
      warn,
      before: before?.providers,
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

  const masterKeys = readMasterKeys(live, dataDir);
  const vault = openVault({ vaults: storage.vaults, texts: masterKeys, log, reports: !slot?.slot });
  const sign = createTextSigner(masterKeys.current);
  const summaries = createSummarySeal(masterKeys);
  const discover = createModelDiscovery();
  const pipelines = assemblePipelines(
    {
      addedTools: await loadTools(live.tools.modules),
      config,
      models: () => models,
      discover,
      routingContext: () => routingContext,
      hashEndUser: createEndUserHash(masterKeys.current),
      sign,
      summaries,
      files,
      passages: storage.passages,
      outbound,
      containers: replaced ?? opened.containers,
      accounting,
      accounts,
      modules: modules.plugins,
      contentGuardrails,
      telemetry,
      log,
      version,
    },
    resources,
  );
  const management: ManagementParts = {
    management: storage.management,
    access: storage.access,
    ledger: storage.ledger,
    now: currentTimeMs,
    contentFilters: contentGuardrails,
    loadModules: async () => modules.settings,
    async onChange() {
      await accounts.spending.refresh(); // also the sums, because corrections send no message
      await access.refresh();
      bus.publish(accessTopic, null);
    },
  };
  const host = { id: hashHost(hostname(), resolve(dataDir)), sign };
  const own = createOwnSocket(resources);
  const runtime = openRuntime(
    {
      config,
      bus,
      log,
      own,
      host,
      driver: opened.driver,
      problem: opened.problem,
      openEgress: opened.openEgress,
      store: storage.containers,
      objects: files.objects,
      vault,
      interns: storage.interns,
    },
    resources,
  );
  const interns = openInterns(
    {
      config,
      storage,
      management,
      bus,
      log,
      runtime: given.internRuntime ?? runtime,
      vaults: given.internVaults ?? createInternVaults(vault),
      numbers: telemetry.interns,
      runs: !slot?.slot,
      times: given.internTimes,
    },
    resources,
  );
  const schedules = openSchedules(
    {
      config,
      storage,
      bus,
      log,
      findLive: runtime.find,
      offersInterns: interns.isOffered,
      numbers: telemetry.interns,
      runs: !slot?.slot,
    },
    resources,
  );
  let phase: 'serving' | 'draining' | 'closing' = 'serving';
  let polledAtMs = Number.NEGATIVE_INFINITY;
  const { ledger } = accounting;
  const readReadiness = createReadinessCheck({
    isDraining: () => phase !== 'serving',
    blockedSinceMs: ledger.findBlockedSinceMs,
    ping: pingStore,
    storeLostSinceMs,
    checkFresh: () => access.checkFresh(config().storage.grace_ms),
    lastRead: () => ({ atMs: access.seenAtMs, ageMs: access.ageMs }),
    notStoredSinceMs: () => ledger.notStoredSinceMs,
    describeCounters: accounts.describeCounters,
    clockAheadMs: () => clock?.aheadMs ?? 0,
  });
  const checkReadiness = (): Promise<Readiness> => {
    polledAtMs = performance.now();
    return readReadiness();
  };
  const bodies = new BodyBudget(() => config().server.body_memory ?? defaultBodyMemory());
  const sockets = createResponseSockets({
    bodies,
    bodyLimit: { bytes: config().server.body_limit, source: 'server.body_limit' },
    isDraining: () => phase !== 'serving',
    times() {
      const { socket_ping_ms, socket_idle_ms, socket_lifetime_ms } = config().server;
      return { pingMs: socket_ping_ms, idleMs: socket_idle_ms, lifetimeMs: socket_lifetime_ms };
    },
  });
  const app = await createEdge({
    ...pipelines,
    bodies,
    sockets,
    summaries,
    discover,
    contentGuardrails,
    config,
    health,
    files,
    accounts,
    accounting,
    storage,
    telemetry,
    open,
    log,
    version,
    management,
    interns,
    schedules,
    runtime,
    host,
    own,
    checkReadiness,
    vault,
    models: () => models,
    modules: modules.settings,
    routingContext: () => routingContext,
    isDraining: () => phase !== 'serving',
    isClosing: () => phase === 'closing',
    primary: slot?.primary.use<PrimaryService>(serviceNames.primary),
  });

  own.serve((connection) => void app.server.emit('connection', connection));

  function watchMemory(): void {
    resources.defer(releaseIdleMemory({ begun: () => open.begun, open: () => open.count('request') }));
  }
  async function prepareReload(next: Config): Promise<() => Promise<void>> {
    await access.refresh();
    const after = await build(next, models);
    const applyFilters = await contentGuardrails.prepareReload(next);
    return () => {
      const before = models.providers;
      const settled = open.settled(longestRequestMs(live));
      models = after;
      applyFilters();
      live = next;
      routingContext = createContext();
      lines.setLevel(next.log.level);
      lines.addSecrets(listSecrets(next));
      // The old providers close after the requests in flight, which may still use them.
      void findWires(after.providers, log);
      void settled.then(() => Promise.all(before.map((provider) => provider.close(false))));
      // Without a store, the previous limits stay, and a periodic refresh logs the failure.
      return accounts.spending.refreshLimits().catch(() => {});
    };
  }

  return {
    storage,
    async start() {
      await app.listen({ host: live.server.host, port: live.server.port });
      watchMemory();
      void findWires(models.providers, log);
      // After it listens, so that a port in use does not lose the keys.
      const firstKeys = await createFirstKeys(storage.access);
      if (firstKeys) await access.refresh();
      const url = writeUrl(live.server.host, (app.server.address() as AddressInfo).port);
      return firstKeys ? { url, firstKeys } : { url };
    },
    async startBehind() {
      await app.ready();
      watchMemory();
      void findWires(models.providers, log);
      app.server.emit('listening'); // starts the timeouts and the connection tracking of Node's server
      return (connection) => void app.server.emit('connection', connection);
    },
    async reload(next) {
      logDisabledKeys(await runBootstrap(storage, next, modules.settings));
      await (await prepareReload(next))();
    },
    prepareReload,
    refreshAccess: accounts.refresh,
    release: accounts.release,
    flush: accounting.flush,
    checkReadiness,
    collectMetrics: telemetry.collect,
    collectCounters: telemetry.collectCounters,
    log,
    drain() {
      const isPolled = performance.now() - polledAtMs < POLLED_MS;
      phase = 'draining';
      sockets.drain();
      return live.server.drain_ms ?? (isPolled ? DRAIN_MS : 0);
    },
    async close() {
      phase = 'closing'; // the port stays open for a while, and new requests get a 503
      sockets.drain();
      await open.settled(live.server.shutdown_grace_ms);
      open.abort(new GatewayError('unavailable', 'The gateway was shut down before the response was complete.'));
      await open.settled(SHUTDOWN_GRACE_MS);
      await sockets.close(SHUTDOWN_GRACE_MS);
      const closed = app.close();
      app.server.closeAllConnections(); // clients that do not read their final events
      await closed;
      await open.settled(SHUTDOWN_GRACE_MS); // records their entries as well
      await Promise.all(models.providers.map((provider) => provider.close(true)));
      await resources.disposeAsync();
    },
  };
}

function readTracing(
  { otlp_endpoint: endpoint, headers = {}, sampling, service_name }: Config['telemetry'],
  gatherMs: number | undefined,
) {
  return endpoint === undefined
    ? undefined
    : { endpoint, headers, sampling, serviceName: service_name, version, gatherMs };
}
