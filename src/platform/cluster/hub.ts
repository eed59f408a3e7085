import type { Channel } from './channel.ts';
import { openPeer, type Peer } from './peer.ts';

/** A worker, as services of the primary know it. */
export interface WorkerLink {
  /** From 0; that of a worker who took a dead one's place is the same. */
  readonly slot: number;
  /** Aborted when this worker is gone: what is held for it must be given back. */
  readonly gone: AbortSignal;
}

/** The primary's end of the channels to all its workers. */
export interface Hub {
  /**
   * Offers a service to all workers, those to come included: call it before the first is forked. A worker asks it with
   * `peer.use<Service>(name)`.
   *
   * @param make called once for each worker; one object may serve all
   */
  provide(name: string, make: (worker: WorkerLink) => object): void;
  /** Takes a new worker in, until it is gone. */
  attach(slot: number, channel: Channel): Peer;
  /** Those that are there, by slot. */
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
