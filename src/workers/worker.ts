import { tuneProcess } from '../compose/tune-process.ts';
import { openGateway, type OpenedGateway } from '../gateway.ts';
import { channelToPrimary } from '../platform/cluster/channel.ts';
import { takeConnections } from '../platform/cluster/connection-dispatcher.ts';
import { openPeer } from '../platform/cluster/peer.ts';
import { serviceNames, type WorkerService } from './services.ts';

/*
 * The program of a worker: a gateway that the primary controls. It reads neither flags nor files. The configuration
 * comes from the primary, so that all workers have the same.
 */

const primary = openPeer(channelToPrimary());
let gateway: OpenedGateway | undefined;
let commit: (() => Promise<void>) | undefined;

/** Interval of metric reports. A killed worker loses at most the counts of this time. */
const TELL_MS = 1000;

/** @throws if the primary calls before it has opened the gateway, which is a bug */
function getGateway(): OpenedGateway {
  if (!gateway) throw new Error('This worker has no gateway yet.');
  return gateway;
}

let closing: Promise<void> | undefined;
const close = (): Promise<void> => (closing ??= gateway?.close() ?? Promise.resolve());

const service: WorkerService = {
  async open({ config, dataDir, file, slot }) {
    gateway = await openGateway({ config, dataDir, file, ownsProcess: true, slot: { ...slot, primary } });
    const { connect } = await gateway.startBehind();
    tuneProcess(gateway);
    const { collectCounters } = gateway;
    setInterval(() => primary.tell(serviceNames.numbers, 'see', collectCounters()), TELL_MS).unref();
    takeConnections(
      {
        taken: (connection) => primary.tell(serviceNames.dispatcher, 'taken', connection),
        closed: () => primary.tell(serviceNames.dispatcher, 'closed'),
      },
      connect,
    );
  },
  async prepareReload(config) {
    commit = await getGateway().prepareReload(config);
  },
  async commitReload() {
    const taken = commit?.();
    commit = undefined;
    await taken;
  },
  refreshAccess: () => getGateway().refreshAccess(),
  release: (ended) => getGateway().release(ended),
  flush: () => getGateway().flush(),
  checkReadiness: () => getGateway().checkReadiness(),
  collectMetrics: () => getGateway().collectMetrics(),
  ping() {},
  drain: () => getGateway().drain(),
  close,
};
primary.provide(serviceNames.worker, service);

// A terminal or a supervisor sends its signals to all processes at once. Only the primary handles them.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});

// A worker that lost its primary finishes its requests. It gets no new ones, because the port belonged to the primary.
// Its new entries stay in its journal for the next start.
primary.gone.addEventListener('abort', async () => {
  try {
    await close();
  } finally {
    process.exit();
  }
});
