import type { Hub } from '../../cluster/hub.ts';
import type { Peer } from '../../cluster/peer.ts';
import type { BusDriver, MessageReceiver } from '../bus.ts';

/** The name of the service on both sides. */
const busService = 'bus';

/** Opens the driver of a worker: the primary relays messages to the other workers. */
export function openIpcDriver(primary: Peer): BusDriver {
  let receiver: MessageReceiver | undefined;
  let closed = false;
  primary.provide(busService, {
    deliver(topic: string, message: unknown) {
      if (!closed) receiver?.(topic, message);
    },
  });
  return {
    send(topic, message) {
      if (!closed) primary.tell(busService, 'publish', topic, message);
    },
    receive(next) {
      receiver = next;
    },
    async close() {
      closed = true;
    },
  };
}

/**
 * Relays the messages of each worker to the other workers and to other hosts, and those of other hosts to all workers.
 *
 * @param far the driver to other hosts; the caller closes it
 */
export function relayMessages(hub: Hub, far?: BusDriver): void {
  const deliver = (topic: string, message: unknown, except?: number): void => {
    for (const [slot, peer] of hub.peers) if (slot !== except) peer.tell(busService, 'deliver', topic, message);
  };
  hub.provide(busService, ({ slot }) => ({
    publish(topic: string, message: unknown) {
      deliver(topic, message, slot);
      far?.send(topic, message);
    },
  }));
  far?.receive((topic, message) => deliver(topic, message));
}
