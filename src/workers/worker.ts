import { createGateway, type Gateway } from '../gateway.ts';
import { channelToPrimary } from '../platform/cluster/channel.ts';
import { takeConnections } from '../platform/cluster/connection-dispatcher.ts';
import { openPeer } from '../platform/cluster/peer.ts';
import { serviceNames, type WorkerService } from './services.ts';

/*
 * The program of a worker: a gateway that does what the primary says. It reads neither flags nor files: the
 * configuration comes from the primary, so that all have the same.
 */

const primary = openPeer(channelToPrimary());
let gateway: Gateway | undefined;
let commit: (() => Promise<void>) | undefined;

/** What a worker counts in this time is lost with it when it is killed. */
const TELL_MS = 1000;

/** @throws when the primary asks before it has opened the gateway: a mistake in the program */
function getGateway(): Gateway {
  if (!gateway) throw new Error('This worker has no gateway yet.');
  return gateway;
}

let closing: Promise<void> | undefined;
const close = (): Promise<void> => (closing ??= gateway?.close() ?? Promise.resolve());

const service: WorkerService = {
  async open({ config, dataDir, slot }) {
    gateway = await createGateway({ config, dataDir, slot: { ...slot, primary } });
    const serve = await gateway.startBehind();
    const { collectCounters } = gateway;
    setInterval(() => primary.tell(serviceNames.numbers, 'see', collectCounters()), TELL_MS).unref();
    takeConnections(
      {
        taken: (connection) => primary.tell(serviceNames.dispatcher, 'taken', connection),
        closed: () => primary.tell(serviceNames.dispatcher, 'closed'),
      },
      serve,
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
  collectMetrics: () => getGateway().collectMetrics(),
  ping() {},
  close,
};
primary.provide(serviceNames.worker, service);

// A terminal sends its signals to all processes at once, and so may a supervisor: the primary alone decides what they mean.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});

// A worker that lost its primary ends what it has begun. Nobody new reaches it: the port was the primary's. What it books
// now stays in its journal for the next start.
primary.gone.addEventListener('abort', async () => {
  try {
    await close();
  } finally {
    process.exit();
  }
});
