import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createFirstKeys } from './access/bootstrap.ts';
import type { OrphanedRequest } from './access/rate-limits.ts';
import type { Readiness } from './api/health/readiness.ts';
import { createEdge } from './compose/create-edge.ts';
import { openAlerts } from './compose/open-alerts.ts';
import { type Base, openBase } from './compose/open-base.ts';
import { openContainers } from './compose/open-containers.ts';
import { type LiveModels, openModels } from './compose/open-models.ts';
import { openExports } from './compose/open-exports.ts';
import type { GatewayOptions } from './compose/options.ts';
import { DRAIN_MS, SHUTDOWN_GRACE_MS } from './compose/time-limits.ts';
import { openInference } from './compose/wings/inference.ts';
import { openInternWing } from './compose/wings/interns.ts';
import { openRecords } from './compose/wings/records.ts';
import { openService, type Service } from './compose/wings/service.ts';
import { listSecrets } from './config/list-secrets.ts';
import type { Config } from './config/schema.ts';
import { GatewayError } from './domain/errors.ts';
import type { OpenRequests } from './http/open-requests.ts';
import { writeUrl } from './http/write-url.ts';
import type { Storage } from './platform/storage/storage.ts';
import type { MetricFamily } from './platform/telemetry/exposition.ts';
import type { WriteLog } from './platform/telemetry/log-messages.ts';

/** The keys of the very first start, whose text is not stored. */
export interface FirstKeys {
  inference: string;
  management: string;
  /** Signs in to the console once, within an hour, with the rights of the management key. */
  signInToken: string;
}

export interface OpenedGateway {
  /**
   * Listens.
   *
   * @throws with a message for the operator if the port or the store is unavailable
   */
  start(): Promise<{ url: string; firstKeys?: FirstKeys }>;
  /** Replaces `start` if another process or another server listens. */
  startBehind(): Promise<Front>;
  /** Creates the first keys, unless the store has keys. */
  createFirstKeys(): Promise<FirstKeys | undefined>;
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
  /** The requests in flight. */
  readonly requests: Pick<OpenRequests, 'begun' | 'count'>;
}

/** The ways into a gateway that does not listen. */
export interface Front {
  /** Serves a connection. */
  connect(connection: Socket | Duplex): void;
  /** Serves a request of another server. */
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Serves an upgrade to WebSocket of another server. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/**
 * The composition root: configuration → adapters → gateway, in the order of their dependencies. Only this file and
 * those in `compose/` name concrete adapters.
 *
 * Opens everything but the port.
 *
 * @throws with a message for the operator if the folder or the store is unavailable
 */
export async function openGateway(options: GatewayOptions): Promise<OpenedGateway> {
  const resources = new AsyncDisposableStack(); // released in reverse order
  try {
    return await assemble(options, resources);
  } catch (error) {
    await resources.disposeAsync();
    throw error;
  }
}

async function assemble(options: GatewayOptions, resources: AsyncDisposableStack): Promise<OpenedGateway> {
  const base = await openBase({ ...options, version }, resources);
  const sandboxes = await openContainers(base, resources);
  const live = await openModels(base);
  const inference = await openInference(base, live, sandboxes, resources);
  const alerts = openAlerts(base, live, resources);
  openExports(base, resources);
  const records = openRecords(base, live, { ...inference, alerts });
  const interns = openInternWing(base, sandboxes, resources);
  const service = openService(base);
  const app = await createEdge(base, {
    ...interns,
    sockets: inference.sockets,
    routes: { ...inference.routes, ...records.routes, ...interns.routes, ...service.routes },
  });
  const connect = (connection: Socket | Duplex): void => void app.server.emit('connection', connection);
  interns.serve(connect);

  const firstKeys = async (): Promise<FirstKeys | undefined> => {
    const keys = await createFirstKeys(base.storage);
    if (keys) await base.accounts.access.refresh();
    return keys;
  };
  return {
    ...createControls(base, live, service),
    createFirstKeys: firstKeys,
    async start() {
      const { host, port } = base.config().server;
      await app.listen({ host, port });
      live.findWires();
      // After it listens, so that a port in use does not lose the keys.
      const keys = await firstKeys();
      const url = writeUrl(host, (app.server.address() as AddressInfo).port);
      return keys ? { url, firstKeys: keys } : { url };
    },
    async startBehind() {
      await app.ready();
      live.findWires();
      app.server.emit('listening'); // starts the timeouts and the connection tracking of Node's server
      return {
        connect,
        handle: (request, response) => app.routing(request, response),
        upgrade: (request, socket, head) => void app.server.emit('upgrade', request, socket, head),
      };
    },
    drain() {
      base.state.phase = 'draining';
      inference.sockets.drain();
      return base.config().server.drain_ms ?? (service.isPolled() ? DRAIN_MS : 0);
    },
    async close() {
      const { state, open } = base;
      state.phase = 'closing'; // the port stays open for a while, and new requests get a 503
      inference.sockets.drain();
      await open.settled(base.config().server.shutdown_grace_ms);
      open.abort(new GatewayError('unavailable', 'The gateway was shut down before the response was complete.'));
      await open.settled(SHUTDOWN_GRACE_MS);
      await inference.sockets.close(SHUTDOWN_GRACE_MS);
      const closed = app.close();
      app.server.closeAllConnections(); // clients that do not read their final events
      await closed;
      await open.settled(SHUTDOWN_GRACE_MS); // records their entries as well
      await live.close();
      await resources.disposeAsync();
    },
  };
}

/** Returns the operations of a gateway besides serving. */
function createControls(base: Base, live: LiveModels, { checkReadiness }: Service) {
  const { storage, lines, log, open, accounts, accounting, telemetry, state, contentGuardrails } = base;
  async function prepareReload(next: Config): Promise<() => Promise<void>> {
    await accounts.access.refresh();
    const applyModels = await live.prepareReload(next);
    const applyFilters = await contentGuardrails.prepareReload(next);
    return () => {
      state.config = next;
      applyModels();
      applyFilters();
      lines.setLevel(next.log.level);
      lines.addSecrets(listSecrets(next));
      // Without a store, the previous limits stay, and a periodic refresh logs the failure.
      return accounts.spending.refreshLimits().catch(() => {});
    };
  }
  return {
    storage,
    log,
    requests: open,
    prepareReload,
    async reload(next: Config) {
      await base.bootstrap(next);
      await (await prepareReload(next))();
    },
    refreshAccess: accounts.refresh,
    release: accounts.release,
    flush: accounting.flush,
    checkReadiness,
    collectMetrics: telemetry.collect,
    collectCounters: telemetry.collectCounters,
  };
}
