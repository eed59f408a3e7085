import type { Channel } from './channel.ts';
import { openPeer, type Peer } from './peer.ts';

/** A worker from the view of the primary's services. */
export interface WorkerLink {
  /** From 0. A worker that replaces a dead one has the same slot. */
  readonly slot: number;
  /** Aborted when the worker has ended. Services then release everything that is reserved for it. */
  readonly gone: AbortSignal;
}

/** The primary's end of the channels to all its workers. */
export interface Hub {
  /**
   * Offers a service to all workers, including future ones. Call it before the first fork. A worker calls it with
   * `peer.use<Service>(name)`.
   *
   * @param make called once per worker; one object may serve all
   */
  provide(name: string, make: (worker: WorkerLink) => object): void;
  /** Adds a worker until it ends. */
  attach(slot: number, channel: Channel): Peer;
  /** The peers of the current workers, by slot. */
  readonly peers: ReadonlyMap<number, Peer>;
}

export function createHub(): Hub {
  const services = new Map<string, (worker: WorkerLink) => object>();
  const peers = new Map<number, Peer>();
  return {
    provide: (name, make) => void services.set(name, make),
    attach(slot, channel) {
      const peer = openPeer(channel);
      for (const [name, make] of services) peer.provide(name, make({ slot, gone: peer.gone }));
      peers.set(slot, peer);
      peer.gone.addEventListener('abort', () => {
        if (peers.get(slot) === peer) peers.delete(slot);
      });
      return peer;
    },
    peers,
  };
}
