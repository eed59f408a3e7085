import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createFirstKeys } from '../access/bootstrap.ts';
import { openPluginModules } from '../compose/open-plugin-modules.ts';
import { type OrphanedRequest, readOrphanedRequest } from '../access/rate-limits.ts';
import { runBootstrap } from '../compose/run-bootstrap.ts';
import { openFarDriver } from '../compose/open-bus.ts';
import { removeInterruptedUploads } from '../compose/open-files.ts';
import { openClock } from '../compose/open-clock.ts';
import { openObjects } from '../compose/open-objects.ts';
import { areSharedCounters } from '../compose/open-counters.ts';
import { isSharedStore, openStorage } from '../compose/open-storage.ts';
import { PING_MS } from '../compose/time-limits.ts';
import { listSecrets } from '../config/list-secrets.ts';
import type { Config } from '../config/schema.ts';
import { createId } from '../domain/ids.ts';
import { moduleUrl } from '../domain/module-url.ts';
import type { OpenedGateway } from '../gateway.ts';
import { writeUrl } from '../http/write-url.ts';
import type { OrphanedRecords } from '../metering/journal-lines.ts';
import {
  nameWorkerJournal,
  openOrphanedJournals,
  storeJournal,
  logInterrupted,
} from '../metering/orphaned-journals.ts';
import { relayMessages } from '../platform/bus/ipc/ipc-driver.ts';
import { WorkerPool, type PoolMember } from '../platform/cluster/worker-pool.ts';
import { createForker, type Forked } from '../platform/cluster/fork.ts';
import { createConnectionDispatcher } from '../platform/cluster/connection-dispatcher.ts';
import { createHub } from '../platform/cluster/hub.ts';
import { PeerClosedError, type Remote } from '../platform/cluster/peer.ts';
import { MemoryCounters } from '../platform/counters/memory/memory-counters.ts';
import { countersService } from '../platform/counters/remote/open.ts';
import { serveCounters } from '../platform/counters/remote/serve.ts';
import { lockDataFolder } from '../platform/data-folder/data-folder.ts';
import { readMasterKeys } from '../compose/read-master-keys.ts';
import { storageService } from '../platform/storage/remote/open.ts';
import { serveStorage } from '../platform/storage/remote/serve.ts';
import { LoopProbe } from '../platform/telemetry/loop-probe.ts';
import { describeProcess } from '../platform/telemetry/metrics.ts';
import { joinOutages } from '../platform/telemetry/join-outages.ts';
import { OutageLog } from '../platform/telemetry/outage-log.ts';
import { loadLogFormat } from '../platform/telemetry/log-format.ts';
import { openLog } from '../platform/telemetry/open-log.ts';
import { withTimeout } from '../platform/with-timeout.ts';
import { type MetricsService, type PrimaryService, serviceNames, type WorkerService } from './services.ts';
import { type WorkerLife, WorkerMetrics } from './worker-metrics.ts';

export interface PrimaryOptions {
  config: Config;
  dataDir: string;
  /** The configuration file. */
  file?: string | undefined;
  /** 1 or more. */
  workers: number;
}

/**
 * A gateway of several workers, and this process, which serves no requests. It owns the resources that must exist only
 * once.
 */
export interface Primary extends Pick<OpenedGateway, 'start' | 'reload' | 'log' | 'close'> {
  /** As for a single gateway. The longest time of a worker counts. */
  drain(): Promise<number>;
  /** Rejects when workers end repeatedly. */
  readonly failed: Promise<never>;
}

interface ServingWorker extends PoolMember {
  readonly slot: number;
  readonly gateway: Remote<WorkerService>;
  readonly forked: Forked;
  readonly life: WorkerLife;
  /** The configuration that the worker uses. */
  config: Config;
}

/** Connections to PostgreSQL of this process, for the bootstrap and the journals of dead workers. */
const POOL_SIZE = 2;
/** Time for the journals of ended workers to reach the store. The remaining entries stay for the next start. */
const FLUSH_MS = 3000;
/** Time limit of a worker's response if others wait for it, because the worker may be unresponsive. */
const ANSWER_MS = 1000;
/**
 * Time without a response after which a worker counts as unresponsive. A reload then fails, and a shutdown kills the
 * worker.
 */
const HANG_MS = 5000;

/**
 * Creates the services of this process for the workers, as `openGateway` does for a single process. `start` starts
 * the workers.
 */
export async function createPrimary(options: PrimaryOptions): Promise<Primary> {
  const resources = new AsyncDisposableStack(); // closed at the end, in reverse order
  try {
    return await assemble(options, resources);
  } catch (error) {
    await resources.disposeAsync();
    throw error;
  }
}

async function assemble(
  { config: initial, dataDir, file, workers }: PrimaryOptions,
  resources: AsyncDisposableStack,
): Promise<Primary> {
  let config = initial;
  const lines = openLog({
    level: config.log.level,
    secrets: listSecrets(config),
    format: await loadLogFormat(config.log.format),
  });
  resources.defer(lockDataFolder(dataDir));
  readMasterKeys(config, dataDir); // one process creates it, before others read it
  const { url } = config.storage;
  const storage = await openStorage({ url, dataDir, poolSize: POOL_SIZE });
  const outages = new OutageLog(lines.write);
  const { write: log, close: endOutages } = joinOutages({
    log: lines.write,
    reports: outages.observe(),
    ping: () => withTimeout(PING_MS, storage.ping()),
    hasCounters: false,
  });
  resources.defer(() => storage.close().catch((error) => log('store close failed', { err: error })));
  resources.defer(endOutages);
  await openClock({ storage, url, log, corrects: true }, resources);
  await storage.migrate();
  if (!isSharedStore(url)) {
    // Those of processes that were killed.
    await storage.containers.releaseAllLeases();
    await storage.jobs.releaseAllJobs();
  }
  const logDisabledKeys = (keys: string | undefined): void => void (keys && log('bootstrap keys disabled', { keys }));
  const modules = await openPluginModules({ modules: config.plugins.modules, log, keepsProcess: true }, resources);
  logDisabledKeys(await runBootstrap(storage, config, modules.settings));

  await removeInterruptedUploads(openObjects(config), { config: () => config, dataDir, log });

  const serving = new Set<ServingWorker>();
  let isDraining = false;
  /** Requests whose worker has ended, until another worker releases their reservations. */
  let ended: OrphanedRequest[] = [];
  function takeOrphaned(found: OrphanedRecords): void {
    logInterrupted(log, found);
    if (!areSharedCounters(config)) return; // the reservations of a worker in the memory of this process ended with it
    for (const entry of found.entries) ended.push(readOrphanedRequest(entry));
    releaseEnded();
  }
  function releaseEnded(): void {
    const [worker] = serving;
    if (!worker || ended.length === 0) return;
    const asked = ended;
    ended = [];
    worker.gateway.release(asked).catch(() => {
      ended.push(...asked); // this worker has also ended, so its replacement releases them
    });
  }

  const journals = new Set<string>();
  const folder = join(dataDir, 'journal');
  const storing = {
    store: storage.ledger,
    quarantineFolder: folder,
    log,
  };
  await storeJournal(folder, storing, takeOrphaned);
  const left = openOrphanedJournals({
    ...storing,
    folder,
    isInUse: (name) => journals.has(name),
    onOrphaned: takeOrphaned,
  });
  resources.defer(left.close);
  await left.store();

  const far = await openFarDriver({
    url,
    onTrouble: (error) => log('bus disconnected', { err: error }),
    onRecovery: () => log('bus reconnected'),
  });
  if (far) resources.defer(() => far.close());
  const hub = createHub();
  relayMessages(hub, far);
  const dispatcher = createConnectionDispatcher();
  if (!isSharedStore(url)) hub.provide(storageService, (worker) => serveStorage(storage, worker));
  const numbers = new WorkerMetrics(workers);
  const probe = new LoopProbe();
  resources.defer(() => probe.close());
  const service: PrimaryService = {
    async flush() {
      await Promise.all(
        [...serving].map(({ gateway }) => Promise.race([gateway.flush().catch(() => {}), delay(ANSWER_MS)])),
      );
    },
    async collectReadiness() {
      const found = await Promise.all(
        [...serving].map(({ gateway }) =>
          withTimeout(PING_MS + ANSWER_MS, gateway.checkReadiness()).catch(() => undefined),
        ),
      );
      return [...found, ...Array.from<undefined>({ length: Math.max(0, workers - found.length) })];
    },
    async collectMetrics() {
      const answers = await Promise.all(
        [...serving].map(async ({ slot, gateway, life }) => {
          const families = await Promise.race([gateway.collectMetrics().catch(() => undefined), delay(ANSWER_MS)]);
          if (families) life.see(families);
          return { slot, families: families ?? undefined };
        }),
      );
      return numbers.join(
        describeProcess(() => probe.takeLongestMs()),
        answers.toSorted((a, b) => a.slot - b.slot),
        pool.replaced,
      );
    },
  };
  hub.provide(serviceNames.primary, () => service);
  hub.provide(serviceNames.outages, ({ gone }) => outages.observe(gone));
  if (!areSharedCounters(config)) {
    const counters = new MemoryCounters();
    hub.provide(countersService, (worker) => serveCounters(counters, worker));
  }

  const fork = createForker(fileURLToPath(moduleUrl('./worker', import.meta.url)));
  const pool = new WorkerPool<ServingWorker>({
    size: workers,
    start: startWorker,
    log,
  });
  async function startWorker(slot: number): Promise<ServingWorker> {
    const journal = nameWorkerJournal(slot, createId(''));
    journals.add(journal);
    const forked = fork();
    const peer = hub.attach(slot, forked.channel);
    const gateway = peer.use<WorkerService>(serviceNames.worker);
    const life = numbers.begin(slot);
    peer.provide(serviceNames.numbers, { see: life.see } satisfies MetricsService);
    peer.gone.addEventListener('abort', life.end); // after all its reports
    void forked.ended.then(() => {
      journals.delete(journal);
      left.schedule();
    });
    try {
      const given = config;
      await gateway.open({ config: given, dataDir, file, slot: { slot, journal, workers } });
      const worker: ServingWorker = {
        slot,
        pid: forked.pid,
        ended: forked.ended,
        forked,
        gateway,
        life,
        config: given,
      };
      serving.add(worker);
      void forked.ended.then(() => void serving.delete(worker));
      releaseEnded();
      await bringUpToDate(worker);
      if (isDraining) await gateway.drain();
      peer.provide(serviceNames.dispatcher, dispatcher.open(peer, forked.sendConnection));
      return worker;
    } catch (error) {
      forked.kill();
      const ending = await forked.ended;
      if (error instanceof PeerClosedError) throw new Error(`Worker ${slot} ended with ${ending} before it served.`);
      throw error;
    }
  }

  /** A worker that started during a reload has the old configuration. */
  async function bringUpToDate(worker: ServingWorker): Promise<void> {
    while (worker.config !== config) {
      worker.config = config;
      await worker.gateway.prepareReload(worker.config);
      await worker.gateway.commitReload();
    }
  }

  /**
   * Checks that a worker responds, because an unresponsive one would block forever.
   *
   * @throws an error with the remedy
   */
  async function expectAlive({ slot, pid, gateway }: ServingWorker): Promise<void> {
    try {
      await withTimeout(HANG_MS, gateway.ping());
    } catch (cause) {
      if (cause instanceof PeerClosedError) return; // another worker replaces it
      throw new Error(
        `Worker ${slot} (process ${pid}) hangs: it has not answered for ${HANG_MS / 1000} s. End it with "kill -9 ${pid}".`,
        { cause },
      );
    }
  }

  /** Ends a worker. Kills a worker that does not close. Its journal has its entries. */
  async function endWorker(worker: ServingWorker): Promise<void> {
    const { slot, pid, gateway, forked } = worker;
    try {
      const closed = gateway.close();
      closed.catch(() => {}); // awaited after it has responded
      await expectAlive(worker).catch((error) => {
        log('worker killed', { worker: slot, pid, reason: 'unresponsive' });
        throw error;
      });
      await closed;
      forked.release();
    } catch {
      forked.kill();
    }
    await forked.ended;
  }

  return {
    failed: pool.failed,
    async start() {
      const { host, port } = config.server;
      const url = writeUrl(host, await dispatcher.listen(host, port));
      await pool.open(endWorker);
      // After the workers listen, so that a port in use does not lose the keys.
      const firstKeys = await createFirstKeys(storage);
      if (firstKeys) await Promise.allSettled([...serving].map(({ gateway }) => gateway.refreshAccess()));
      return firstKeys ? { url, firstKeys } : { url };
    },
    async reload(next) {
      logDisabledKeys(await runBootstrap(storage, next, modules.settings));
      const asked = [...serving];
      await Promise.all(asked.map(expectAlive));
      await Promise.all(asked.map(({ gateway }) => gateway.prepareReload(next).catch(unlessGone)));
      config = next;
      lines.setLevel(next.log.level);
      lines.addSecrets(listSecrets(next));
      for (const worker of asked) worker.config = next;
      await Promise.all(asked.map(({ gateway }) => gateway.commitReload().catch(unlessGone)));
      await Promise.all([...serving].map((worker) => bringUpToDate(worker).catch(unlessGone)));
    },
    log,
    async drain() {
      isDraining = true;
      const drains = [...serving].map(({ gateway }) => withTimeout(ANSWER_MS, gateway.drain()).catch(() => 0));
      return Math.max(0, ...(await Promise.all(drains)));
    },
    async close() {
      await pool.close(endWorker);
      await dispatcher.close();
      await Promise.race([
        left.store().catch(() => {}),
        new Promise((resolve) => setTimeout(resolve, FLUSH_MS).unref()),
      ]);
      await resources.disposeAsync();
    },
  };
}

/**
 * Ignores the error of an ended worker, because its replacement starts over.
 *
 * @throws any other error
 */
function unlessGone(error: unknown): void {
  if (!(error instanceof PeerClosedError)) throw error;
}
