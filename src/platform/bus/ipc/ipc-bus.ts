import type { Hub } from '../../cluster/hub.ts';
import type { Peer } from '../../cluster/peer.ts';
import type { Bus, Listener } from '../bus.ts';

/** Its name among the services of either side. */
const busService = 'bus';

/** The bus of a worker: through the primary to the other workers. */
export function openIpcBus(primary: Peer): Bus {
  const listeners: Listener[] = [];
  let closed = false;
  primary.provide(busService, {
    deliver(topic: string, message: unknown) {
      if (closed) return;
      for (const listen of listeners) listen(topic, message);
    },
  });
  return {
    publish(topic, message) {
      if (!closed) primary.tell(busService, 'publish', topic, message);
    },
    subscribe: (listener) => void listeners.push(listener),
    async close() {
      closed = true;
    },
  };
}

/**
 * The primary's part: what one worker tells it tells the others, and other hosts.
 *
 * @param far to other hosts; closed by whoever opened it
 */
export function relayBus(hub: Hub, far?: Bus): void {
  const deliver = (topic: string, message: unknown, except?: number): void => {
    for (const [slot, peer] of hub.peers) if (slot !== except) peer.tell(busService, 'deliver', topic, message);
  };
  hub.provide(busService, ({ slot }) => ({
    publish(topic: string, message: unknown) {
      deliver(topic, message, slot);
      far?.publish(topic, message);
    },
  }));
  far?.subscribe((topic, message) => deliver(topic, message));
}
