import { type Bus, type BusDriver, createBus } from '../platform/bus/bus.ts';
import type { PostgresDriverOptions } from '../platform/bus/postgres/postgres-driver.ts';
import type { Peer } from '../platform/cluster/peer.ts';
import { isSharedStore } from './open-storage.ts';

export interface BusOptions extends Pick<PostgresDriverOptions, 'onTrouble' | 'onRecovery'> {
  /** `storage.url`. Hosts that share a store exchange messages. */
  url: string;
  /** Only set in a worker. Relays messages. */
  primary?: Peer | undefined;
}

/** Opens the bus to all other processes of the gateway. */
export async function openBus({ primary, ...options }: BusOptions): Promise<Bus> {
  if (primary) {
    const { openIpcDriver } = await import('../platform/bus/ipc/ipc-driver.ts');
    return createBus(openIpcDriver(primary));
  }
  const far = await openFarDriver(options);
  if (far) return createBus(far);
  const { createMemoryNetwork } = await import('../platform/bus/memory/memory-driver.ts');
  return createBus(createMemoryNetwork().join());
}

/** Opens the driver to other hosts. @returns undefined if no other host can share the store */
export async function openFarDriver({
  url,
  onTrouble,
  onRecovery,
}: Omit<BusOptions, 'primary'>): Promise<BusDriver | undefined> {
  if (!isSharedStore(url)) return undefined;
  const { openPostgresDriver } = await import('../platform/bus/postgres/postgres-driver.ts');
  return openPostgresDriver(url, { onTrouble, onRecovery });
}
