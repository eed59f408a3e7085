import { readFileSync } from 'node:fs';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { openAccess } from './access/access.ts';
import { applyBootstrap, createFirstKeys } from './access/bootstrap.ts';
import { createEndUserHash } from './access/hash-end-user.ts';
import { RateLimits } from './access/rate-limits.ts';
import { createContentHandler } from './api/generation/content.ts';
import { createFeedbackHandlers } from './api/generation/feedback.ts';
import { createGenerationHandler } from './api/generation/handler.ts';
import { createHealthHandler, createReadyHandler } from './api/health/handler.ts';
import { createImagesHandler } from './api/images/handler.ts';
import { createImageModelsHandlers } from './api/images/models.ts';
import { createManagementHandlers } from './api/management/handlers.ts';
import { createMetricsHandler } from './api/metrics/handler.ts';
import { createModelsHandlers } from './api/models/handlers.ts';
import { listRows, mayUse } from './api/models/rows.ts';
import { checkMeaning } from './api/responses/check-meaning.ts';
import { createResponsesHandler } from './api/responses/handler.ts';
import { refuseNotOffered } from './api/responses/not-offered.ts';
import { buildEndpoints } from './build-endpoints.ts';
import { type Catalog, createCatalog } from './catalog/catalog.ts';
import { loadCatalogRecords } from './catalog/load-catalog.ts';
import { listSecrets } from './config/list-secrets.ts';
import type { Config } from './config/schema.ts';
import { openContentLog } from './contents/content-log.ts';
import { openRetention } from './contents/retention.ts';
import { again } from './domain/again.ts';
import type { Caller } from './domain/caller.ts';
import { GatewayError } from './domain/errors.ts';
import { findSetting, type ResponseRequest } from './domain/request.ts';
import type { StageRecord } from './domain/router-metadata.ts';
import type { FailedRequest } from './http/failed-request.ts';
import { createOpenRequests } from './http/open-requests.ts';
import { listRoutes } from './http/routes.ts';
import { createServer } from './http/server.ts';
import { writeUrl } from './http/write-url.ts';
import { openLedger } from './metering/ledger.ts';
import { openLeftJournals, tellCutOff } from './metering/left-journals.ts';
import { listSpendingLimits } from './metering/list-limits.ts';
import { Spending } from './metering/spending.ts';
import { createTraffic } from './metering/traffic.ts';
import { openBus } from './open-bus.ts';
import { openCounters } from './open-counters.ts';
import { openStorage } from './open-storage.ts';
import { assembleStages } from './pipeline/assemble-stages.ts';
import { estimateCost, estimateImagesCost } from './pipeline/estimate-cost.ts';
import { assembleImageStages } from './pipeline/image-stages.ts';
import { describeRun } from './pipeline/router-metadata.ts';
import { readMasterKey, takeDataFolder, takeFolder } from './platform/data-folder/data-folder.ts';
import { giveBackIdleMemory } from './platform/idle-memory.ts';
import { fetchMedia } from './platform/outbound/fetch-media.ts';
import { imagesFrom } from './platform/outbound/images-from.ts';
import { createOutbound, type OutboundSettings } from './platform/outbound/outbound.ts';
import type { Storage, WorkspaceRecord } from './platform/storage/storage.ts';
import { describeFailure, nameError } from './platform/telemetry/describe-failure.ts';
import type { Family } from './platform/telemetry/exposition.ts';
import { isLoopback } from './platform/telemetry/is-loopback.ts';
import { openLog } from './platform/telemetry/open-log.ts';
import { openTelemetry } from './platform/telemetry/telemetry.ts';
import { plugins } from './plugins/index.ts';
import type { Provider } from './providers/provider-entry.ts';
import { Health } from './routing/health.ts';
import { shareMemory } from './routing/share-memory.ts';
import { StickyMemory } from './routing/sticky.ts';
import { findUnknownNames } from './routing/unknown-names.ts';
import { readRouterSettings, seededRandom } from './routing/world.ts';
import { type PrimaryService, type SeatAtPrimary, serviceNames } from './workers/services.ts';

export interface GatewayOptions {
  config: Config;
  /** Made when absent. Holds the embedded store, the journal and the master key. */
  dataDir: string;
  /** In a worker: the primary has the data folder and the embedded store, and looks after schema, bootstrap and first keys. */
  seat?: SeatAtPrimary;
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
  /** Resolves when all that was booked and kept so far is in the store. @throws the store's error */
  flush(): Promise<void>;
  /** What it has counted. */
  collectMetrics(): Family[];
  /** Takes no new work, lets open requests finish up to `server.shutdown_grace_ms`, flushes, closes. */
  close(): Promise<void>;
  readonly storage: Storage;
}

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

const DAY_MS = 86_400_000;
/** How long an aborted stream has to tell its client so, and a store to say good-bye. */
const LAST_WORDS_MS = 1000;
/** How long the store has to show that it is there. */
const PING_MS = 2000;
/** How long the last entries have to reach the store. Those that do not stay in the journal. */
const FLUSH_MS = 3000;
/** Connections to PostgreSQL of one worker. */
const POOL_OF_A_WORKER = 5;

/** The composition root: configuration → adapters → gateway. The only file that names concrete adapters. */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const held = new AsyncDisposableStack(); // what must be given back, the last first
  try {
    return await assemble(options, held);
  } catch (error) {
    await held.disposeAsync();
    throw error;
  }
}

async function assemble(
  { config: initial, dataDir, seat }: GatewayOptions,
  held: AsyncDisposableStack,
): Promise<Gateway> {
  let config = initial;
  const { log, addSecrets, mask } = openLog(config.log.level, listSecrets(config), seat && { worker: seat.slot });
  const journal = join(dataDir, 'journal', seat?.journal ?? '');
  held.defer(seat ? takeFolder(journal)! : takeDataFolder(dataDir)); // nobody else knows this folder of a worker's
  const storage = await openStorage({
    url: config.storage.url,
    dataDir,
    primary: seat?.primary,
    poolSize: seat && POOL_OF_A_WORKER,
  });
  held.defer(() =>
    within(LAST_WORDS_MS, storage.close()).catch((error) =>
      log.error({ err: error }, 'The store was left without a good-bye.'),
    ),
  );
  const warn = (message: string): void => log.warn(message);
  let draining = false;
  const open = createOpenRequests();

  if (!seat) {
    await storage.migrate();
    await applyBootstrap(storage.access, config.bootstrap);
    const left = openLeftJournals({
      folder: journal,
      store: storage.ledger,
      isInUse: () => false,
      onTrouble: (error) => log.error({ err: error }, 'Entries that workers left stay in their journals.'),
      onCutOff: tellCutOff(log),
    });
    held.defer(left.close);
    await left.store();
  }
  let built = buildFrom(config, dataDir, await storage.access.listWorkspaces(), warn);
  const ledger = await openLedger({
    folder: journal,
    store: storage.ledger,
    onTrouble: (message, error) => log.error({ err: error }, message),
    onCutOff: tellCutOff(log),
  });
  held.defer(() =>
    within(FLUSH_MS, ledger.close()).catch((error) => log.error({ err: error }, 'Ledger entries stay in the journal.')),
  );
  const { traffic, close: closeTraffic } = createTraffic({
    read: (since) => storage.ledger.readTraffic(since),
    onTrouble: (error) => log.warn({ err: error }, 'The store does not tell what models were used for.'),
  });
  held.defer(closeTraffic);
  let readLimits = async (): Promise<void> => {}; // until they are read for the first time
  const access = await openAccess(storage.access, {
    onTrouble: (error) => log.error({ err: error }, 'The store does not tell the keys.'),
    onChange: () => readLimits(),
  });
  held.defer(access.close);

  const contents = openContentLog({
    store: storage.contents,
    settings: () => config.io_logging,
    mask,
    // By name alone: a database may repeat the row that it refuses.
    onTrouble: (message, error) => log.warn(error instanceof Error ? { cause: nameError(error) } : {}, message),
  });
  held.defer(() =>
    within(FLUSH_MS, contents.close()).catch((error) =>
      log.warn({ cause: nameError(error) }, 'The last contents were not kept.'),
    ),
  );
  // One of several workers does it for all.
  const retention = seat?.slot
    ? undefined
    : openRetention({
        deleteBefore: storage.contents.deleteBefore,
        keepMs: () => config.io_logging.retention_days * DAY_MS,
        onTrouble: (error) => log.warn({ err: error }, 'Old contents were not deleted.'),
      });
  if (retention) held.defer(retention.close);

  const health = new Health(Date.now, config.routing.outage_ms);
  const bus = await openBus({
    url: config.storage.url,
    primary: seat?.primary,
    onTrouble: (error) => log.warn({ err: error }, 'News between hosts are lost until the database is back.'),
  });
  if (bus) held.defer(() => within(LAST_WORDS_MS, bus.close()).catch(() => {})); // a store that is silent hears no good-bye
  const sticky = new StickyMemory(() => config.routing.sticky_ms);
  const telemetry = await openTelemetry({
    log,
    logsRequests: () => config.log.requests,
    sources: {
      isStable: (id) => health.view({ id })?.isStable ?? true,
      openRequests: () => open.count('request'),
      openStreams: () => open.count('stream'),
      journalEntries: () => ledger.waiting,
      contentsDropped: () => contents.dropped,
      contentBytes: () => contents.pendingBytes,
      version,
    },
    tracing: readTracing(config.telemetry),
  });
  held.defer(() =>
    within(FLUSH_MS, telemetry.close()).catch((error) => log.warn({ err: error }, 'The last traces were not sent.')),
  );
  const makeWorld = () => ({
    catalog: built.catalog,
    health,
    sticky,
    routers: readRouterSettings(config.routers, traffic),
    random: config.routing.seed === undefined ? Math.random : seededRandom(config.routing.seed),
  });
  let world = makeWorld();

  let outboundSettings = readOutbound(config.outbound);
  const outbound = createOutbound({
    settings: () => outboundSettings,
    report: (failure) => log.warn(failure, 'An address was not fetched.'),
  });

  const everyRun = {
    world: () => world,
    maxAttempts: () => config.routing.max_attempts,
    begin: ledger.begin,
    book: ledger.book,
    hashEndUser: createEndUserHash(readMasterKey(dataDir, config.secrets.master_key)),
  };

  const stages = assembleStages({
    ...everyRun,
    classifier: () => {
      const { classifier } = config.routers.auto;
      return classifier && { model: classifier.model, timeoutMs: classifier.timeout_ms };
    },
    inspectors: [checkMeaning, refuseNotOffered],
    preparers: plugins.map((plugin) => (run) => {
      const setting = findSetting(run.request, plugin.id);
      const record = (stage: StageRecord) => void run.stages.push(stage);
      return setting && plugin.prepare({ request: run.request, record }, setting);
    }),
    reserve({ caller, request, generationId }, plan) {
      if (!spending.limits(caller)) return undefined;
      return spending.reserve(caller, generationId, estimateCost(request, plan));
    },
    findUnknownProviders: ({ request, caller }) =>
      findUnknownNames(request.provider, built.catalog.endpoints, caller.workspaceId),
    observe(run, entry) {
      telemetry.observe(run, entry);
      if (run.caller.contentSampling !== undefined) contents.take(run);
    },
    region: () => config.server.region,
    upstreamBodyLimit: () => config.server.upstream_body_limit,
    media: () => ({
      fetch: config.outbound.fetch ? (url, options) => fetchMedia(outbound, url, options) : undefined,
      maxBytes: config.outbound.request_bytes,
      maxUrls: config.outbound.request_urls,
    }),
  });
  const imageStages = assembleImageStages({
    ...everyRun,
    reserve({ caller, request, generationId }, plan) {
      if (!spending.limits(caller)) return undefined;
      return spending.reserve(caller, generationId, estimateImagesCost(request, plan));
    },
    observe: telemetry.observe,
    describeRun: (run) => describeRun(run, config.server.region),
    ...imagesFrom(outbound, () => config.outbound.fetch),
    limits: () => ({
      answer: config.images.answer_limit,
      memory: config.images.memory,
      reference: config.images.reference_limit,
    }),
  });
  const counters = await openCounters({
    config: () => config,
    primary: seat?.primary,
    onTrouble: (message, error) => log.warn({ err: error }, message),
    onFailure: telemetry.countCounterFailure,
  });
  held.defer(() =>
    within(LAST_WORDS_MS, counters.close()).catch((error) =>
      log.warn({ err: error }, 'The shared counters were left without a good-bye.'),
    ),
  );
  const requestMs = () => config.timeouts.request_ms;
  const spending = new Spending({
    counters,
    flush: ledger.flush,
    async read(scope, includesByok, ...since) {
      const sums = await storage.ledger.readSpending(scope, ...since);
      if (!includesByok) return sums;
      const byOwnKeys = await storage.ledger.readByokSpending(scope, ...since);
      return sums.map((sum, index) => sum + byOwnKeys[index]!);
    },
    readReductions: () => storage.ledger.readReductions(),
    listLimits() {
      const { access, management } = storage;
      return listSpendingLimits({ access, management, budgets: config.budgets });
    },
    requestMs,
    onTrouble: (error) => log.warn({ err: error }, 'The store does not tell limits and spending.'),
  });
  await spending.open();
  readLimits = () => spending.refreshLimits();
  held.defer(() => spending.close());
  const limits = new RateLimits({
    counters,
    settings: () => config.limits,
    requestMs,
    onHit: (scope, limit) => telemetry.countLimitHit(limit, scope),
  });
  async function refreshAccess(): Promise<void> {
    await readLimits(); // before the keys that they are for
    await access.refresh();
  }
  if (bus) {
    const refreshSoon = again(() => refreshAccess().catch(() => {})); // the poll will bring it, and tells what is wrong
    const shared = shareMemory({ health, sticky, publish: (topic, message) => bus.publish(topic, message) });
    held.defer(shared.close);
    bus.subscribe((topic, message) => (topic === 'access' ? refreshSoon() : shared.take(topic, message)));
  }
  const primary = seat?.primary.use<PrimaryService>(serviceNames.primary);
  async function flush(): Promise<void> {
    await Promise.all([ledger.flush(), contents.flush()]);
  }
  /** That of all workers, where there are several. */
  async function flushAll(): Promise<void> {
    if (!primary) return flush();
    await primary.flush().catch(() => {}); // the primary is gone: the store will say so
  }
  /** What another worker booked or kept may still be on its way. */
  async function lookTwice<Found>(find: () => Promise<Found | undefined>): Promise<Found | undefined> {
    const found = await find();
    if (found || !primary) return found;
    await flushAll();
    return find();
  }
  const isDraining = () => draining;
  const canBook = () => ledger.accepting;
  const onFailure = (error: GatewayError, request: FailedRequest): void => {
    const level = error.kind === 'internal' ? 'error' : 'warn';
    const { fields, message } = describeFailure(error);
    log[level]({ request, ...fields }, message);
  };

  const admit = (caller: Caller, request: ResponseRequest, id: string) => {
    access.checkFresh(config.storage.grace_ms);
    return limits.admit(caller, request, id);
  };

  const app = await createServer({
    routes: listRoutes({
      createResponse: createResponsesHandler({
        stages,
        describeRun: (run) => describeRun(run, config.server.region),
        open,
        requestMs,
        keepAliveMs: () => config.server.keep_alive_comment_ms,
        admit,
        canBook,
        onFailure,
      }),
      createImage: createImagesHandler({
        stages: imageStages,
        describeRun: (run) => describeRun(run, config.server.region),
        open,
        requestMs: () => config.images.request_ms,
        streamMs: () => config.images.stream_ms,
        keepAliveMs: () => config.server.keep_alive_comment_ms,
        admit,
        canBook,
        onFailure,
      }),
      imageBodyLimit: config.images.body_limit,
      ...createImageModelsHandlers({
        catalog: () => built.catalog,
        rowsFor: (caller) => listRows(built.catalog, world.routers.latest, (endpoint) => mayUse(endpoint, caller)),
      }),
      findGeneration: createGenerationHandler((workspaceId, id) => lookTwice(() => ledger.find(workspaceId, id))),
      findContent: createContentHandler((id) => lookTwice(() => contents.find(id))),
      ...createFeedbackHandlers({ contents: storage.contents, flushLedger: flushAll }),
      ...createModelsHandlers({
        catalog: () => built.catalog,
        health,
        latest: () => world.routers.latest,
        providers: () => built.providers,
      }),
      ...createManagementHandlers({
        management: storage.management,
        ledger: storage.ledger,
        async refreshAccess() {
          await spending.refresh(); // and the sums: nobody is told of corrections
          await access.refresh();
          bus?.publish('access', null);
        },
      }),
      health: createHealthHandler(version),
      showMetrics: createMetricsHandler({
        collect: () => primary?.collectMetrics().catch(telemetry.collect) ?? telemetry.collect(),
        access: () => config.server.metrics,
        isLocal: isLoopback(config.server.host),
        authenticate: (authorization) => access.authenticate(authorization),
      }),
      ready: createReadyHandler({ isDraining, canBook, ping: () => within(PING_MS, storage.ping()) }),
    }),
    authenticate: (authorization) => access.authenticate(authorization),
    isDraining,
    open,
    bodyLimit: config.server.body_limit,
    receiveMs: config.timeouts.receive_ms,
    corsOrigins: config.server.cors_origins,
    receivedAt: telemetry.receivedAt,
    watchRoute: telemetry.watchRoute,
    onFailure,
  });

  async function prepareReload(next: Config): Promise<() => Promise<void>> {
    await access.refresh();
    const after = buildFrom(next, dataDir, await storage.access.listWorkspaces(), warn);
    return () => {
      const before = built.providers;
      const underWay = open.settled(config.timeouts.request_ms);
      built = after;
      config = next;
      outboundSettings = readOutbound(next.outbound);
      world = makeWorld();
      log.level = next.log.level;
      addSecrets(listSecrets(next));
      // Not before: the next endpoint of a request under way may be one of these.
      void underWay.then(() => Promise.all(before.map((provider) => provider.close(false))));
      return readLimits().catch(() => {}); // without a store the last limits stay; it is told every ten seconds
    };
  }

  return {
    storage,
    async start() {
      await app.listen({ host: config.server.host, port: config.server.port });
      held.defer(giveBackIdleMemory({ begun: () => open.begun, open: () => open.count('request') }));
      const firstKeys = await createFirstKeys(storage.access); // once it listens: a port in use must not swallow them
      if (firstKeys) await access.refresh();
      const url = writeUrl(config.server.host, (app.server.address() as AddressInfo).port);
      return firstKeys ? { url, firstKeys } : { url };
    },
    async startBehind() {
      await app.ready();
      held.defer(giveBackIdleMemory({ begun: () => open.begun, open: () => open.count('request') }));
      app.server.emit('listening'); // Node's server looks after time-outs and open connections from then on
      return (connection) => void app.server.emit('connection', connection);
    },
    async reload(next) {
      await applyBootstrap(storage.access, next.bootstrap);
      await (await prepareReload(next))();
    },
    prepareReload,
    refreshAccess,
    flush,
    collectMetrics: telemetry.collect,
    async close() {
      draining = true; // the port stays open for a while: whoever comes is told to go elsewhere
      await open.settled(config.server.shutdown_grace_ms);
      open.abort(new GatewayError('unavailable', 'The gateway was shut down before the answer was complete.'));
      await open.settled(LAST_WORDS_MS);
      const closed = app.close();
      app.server.closeAllConnections(); // clients that do not take their last words
      await closed;
      await open.settled(LAST_WORDS_MS); // what these were told is booked, too
      await Promise.all(built.providers.map((provider) => provider.close(true)));
      await held.disposeAsync();
    },
  };
}

interface Models {
  providers: readonly Provider[];
  catalog: Catalog;
}

function buildFrom(
  config: Config,
  dataDir: string,
  workspaces: readonly WorkspaceRecord[],
  warn: (message: string) => void,
): Models {
  const { builtin, overrides } = config.catalog;
  const records = loadCatalogRecords({ builtin, overrides, dataDir }, warn);
  const { providers, endpoints, models } = buildEndpoints(config, records, (named) => {
    const found = workspaces.find(({ id, name }) => id === named || name === named);
    if (!found) throw new Error(`There is no workspace ${named}; add it to bootstrap.workspaces.`);
    return found.id;
  });
  return { providers, catalog: createCatalog(endpoints, models, records) };
}

const readOutbound = (outbound: Config['outbound']): OutboundSettings => ({
  allow: outbound.allow,
  deny: outbound.deny,
  ports: outbound.ports,
  maxBytes: outbound.max_bytes,
  timeoutMs: outbound.timeout_ms,
  idleMs: outbound.idle_ms,
  parallel: outbound.parallel,
});

function readTracing({ otlp_endpoint: endpoint, headers = {}, sampling, service_name }: Config['telemetry']) {
  return endpoint === undefined ? undefined : { endpoint, headers, sampling, serviceName: service_name, version };
}

async function within(limitMs: number, work: Promise<void>): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const limit = setTimeout(() => reject(new Error(`The store did not answer within ${limitMs} ms.`)), limitMs);
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(limit);
  }
}
