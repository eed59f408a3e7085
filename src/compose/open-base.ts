import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { accessTopic } from '../access/access.ts';
import { createTextSigner } from '../access/sign-text.ts';
import { type HostIdentity, hashHost } from '../api/interns/host-proof.ts';
import type { Config } from '../config/schema.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { coalesce } from '../domain/coalesce.ts';
import type { LedgerEntry } from '../domain/ledger-entry.ts';
import { BodyBudget, defaultBodyMemory } from '../http/body-budget.ts';
import { createExportMonitor, type ExportMonitor } from '../exports/monitor.ts';
import { createOpenRequests, type OpenRequests } from '../http/open-requests.ts';
import type { FileParts } from '../management/files/parts.ts';
import type { ManagementParts } from '../management/parts.ts';
import type { Bus } from '../platform/bus/bus.ts';
import type { Outbound } from '../platform/outbound/outbound.ts';
import { isPretty } from '../platform/telemetry/log-format.ts';
import { openTelemetry, type Telemetry } from '../platform/telemetry/telemetry.ts';
import { withTimeout } from '../platform/with-timeout.ts';
import { openRejectionLog, type RejectionLog } from '../metering/rejections.ts';
import { Health } from '../routing/health.ts';
import { InFlight } from '../routing/in-flight.ts';
import { shareMemory } from '../routing/share-memory.ts';
import { StickyMemory } from '../routing/sticky.ts';
import { type ContentGuardrails, createContentGuardrails } from './create-content-guardrails.ts';
import { createGatewayOutbound } from './create-gateway-outbound.ts';
import { type Accounting, openAccounting } from './open-accounting.ts';
import { type Accounts, openAccounts } from './open-accounts.ts';
import { type ArchivingState, openArchiving } from './open-archiving.ts';
import { openBus } from './open-bus.ts';
import { openFileIndex } from './open-file-index.ts';
import { openFiles } from './open-files.ts';
import { type OpenedStore, openStore } from './open-store.ts';
import type { GatewayOptions } from './options.ts';
import { type MasterKeyTexts, readMasterKeys } from './read-master-keys.ts';
import { FLUSH_MS, SHUTDOWN_GRACE_MS } from './time-limits.ts';

/** How a gateway serves: it drains, and then it closes. */
export type Phase = 'serving' | 'draining' | 'closing';

/** The state that changes while a gateway runs. */
export interface LiveState {
  config: Config;
  phase: Phase;
}

/** The parts that the wings of a gateway share. */
export interface Base extends OpenedStore {
  options: GatewayOptions;
  version: string;
  state: LiveState;
  config: () => Config;
  /** Whether this process does the work that one of several workers does for all. */
  isFirst: boolean;
  /** Requests in flight. */
  open: OpenRequests;
  /** The memory for the bodies of all requests in flight. */
  bodies: BodyBudget;
  accounting: Accounting;
  rejections: RejectionLog;
  accounts: Accounts;
  telemetry: Telemetry;
  exports: ExportMonitor;
  contentGuardrails: ContentGuardrails;
  files: FileParts;
  archiving: ArchivingState;
  bus: Bus;
  outbound: Outbound;
  health: Health;
  inFlight: InFlight;
  sticky: StickyMemory;
  masterKeys: MasterKeyTexts;
  /** This host, and signatures that other hosts of the same store check. */
  host: HostIdentity;
  management: ManagementParts;
}

/**
 * Opens what the wings share, in the order of its dependencies.
 *
 * @param resources collects the resources to close at the end
 * @throws with a message for the operator if the folder or the store is unavailable
 */
export async function openBase(
  options: GatewayOptions & { version: string },
  resources: AsyncDisposableStack,
): Promise<Base> {
  const { dataDir, slot, gatherMs, version } = options;
  const state: LiveState = { config: options.config, phase: 'serving' };
  const config = (): Config => state.config;
  const isFirst = !slot?.slot;
  const store = await openStore(options, resources);
  const { storage, journal, log, lines, modules } = store;
  const left: LedgerEntry[] = [];
  const accounting = await openAccounting(
    {
      config,
      storage,
      journal,
      quarantineFolder: join(dataDir, 'journal'),
      log,
      mask: lines.mask,
      takesOrphanedJournals: !slot,
      cleans: isFirst,
      gatherMs,
      onOrphaned: (entries) => void left.push(...entries),
    },
    resources,
  );
  const { ledger } = accounting;
  const rejections = openRejectionLog(
    (entry) => ledger.record(entry),
    () => ledger.accepting,
  );
  resources.defer(() => rejections.close());
  const files = await openFiles(
    { config, files: storage.files, dataDir, log, isFirst: !slot, cleans: isFirst },
    resources,
  );
  if (isFirst) openFileIndex({ config, files, passages: storage.passages, log }, resources);
  const archiving = openArchiving({ config, storage, objects: files.objects, log, isFirst }, resources);
  const health = new Health(Date.now, config().routing.outage_ms);
  const sticky = new StickyMemory(() => config().routing.sticky_ms);
  const open = createOpenRequests();
  const exports = createExportMonitor();
  const telemetry = await openTelemetry({
    log: lines,
    logsRequests: () => config().log.requests ?? isPretty(options.config.log.format),
    sources: {
      isStable: (id) => health.view({ id })?.isStable ?? true,
      openRequests: () => open.count('request'),
      openStreams: () => open.count('stream'),
      journalEntries: () => accounting.ledger.waiting,
      isArchiveFailing: () => archiving.failingSinceMs !== undefined,
      archivedRows: () => archiving.rows,
      contentsDropped: () => accounting.contents.dropped,
      contentBytes: () => accounting.contents.pendingBytes,
      exports: () => exports.collect(),
      version,
    },
    callers: config().server.metrics_callers,
    tracing: readTracing(config().telemetry, { gatherMs, version }),
  });
  resources.defer(() =>
    withTimeout(FLUSH_MS, telemetry.close()).catch((error) => log('trace flush failed', { err: error })),
  );
  const contentGuardrails = createContentGuardrails(config, log);
  const { prepare: prepareFilters } = contentGuardrails;
  const accounts = await openAccounts(
    { config, storage, accounting, telemetry, log, primary: slot?.primary, prepareFilters },
    resources,
  );
  void accounts.release(left.splice(0));
  const bus = await openAccessBus(options, { log, accounts }, resources);
  resources.defer(shareMemory({ health, sticky, bus }).close);
  const masterKeys = readMasterKeys(config(), dataDir);
  return {
    ...store,
    options,
    version,
    state,
    config,
    isFirst,
    open,
    bodies: new BodyBudget(() => config().server.body_memory ?? defaultBodyMemory()),
    accounting,
    rejections,
    accounts,
    telemetry,
    exports,
    contentGuardrails,
    files,
    archiving,
    bus,
    outbound: createGatewayOutbound(config, log),
    health,
    inFlight: new InFlight(),
    sticky,
    masterKeys,
    host: { id: hashHost(hostname(), resolve(dataDir)), sign: createTextSigner(masterKeys.current) },
    management: {
      management: storage.management,
      access: storage.access,
      ledger: storage.ledger,
      now: currentTimeMs,
      contentFilters: contentGuardrails,
      loadModules: async () => modules.settings,
      async onChange() {
        await accounts.spending.refresh(); // also the sums, because corrections send no message
        await accounts.access.refresh();
        bus.publish(accessTopic, null);
      },
    },
  };
}

/** Opens the bus, and reloads the keys when another process has changed them. */
async function openAccessBus(
  { config, slot }: GatewayOptions,
  { log, accounts }: Pick<Base, 'log' | 'accounts'>,
  resources: AsyncDisposableStack,
): Promise<Bus> {
  const bus = await openBus({
    url: config.storage.url,
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
  return bus;
}

function readTracing(
  { otlp_endpoint: endpoint, headers = {}, sampling, service_name, contents, contents_max_bytes }: Config['telemetry'],
  { gatherMs, version }: { gatherMs: number | undefined; version: string },
) {
  return endpoint === undefined
    ? undefined
    : {
        endpoint,
        headers,
        sampling,
        contentBytes: contents ? contents_max_bytes : undefined,
        serviceName: service_name,
        version,
        gatherMs,
      };
}
