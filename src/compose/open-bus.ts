import type { Bus } from '../platform/bus/bus.ts';
import type { PostgresBusOptions } from '../platform/bus/postgres/postgres-bus.ts';
import type { Peer } from '../platform/cluster/peer.ts';
import { isSharedStore } from './open-storage.ts';

export interface BusOptions extends Pick<PostgresBusOptions, 'onTrouble' | 'onRecovery'> {
  /** `storage.url`: who shares a store has news for one another. */
  url: string;
  /** In a worker: who passes news on. */
  primary?: Peer | undefined;
}

/** @returns undefined for a process that is alone */
export async function openBus({ url, primary, onTrouble, onRecovery }: BusOptions): Promise<Bus | undefined> {
  if (primary) {
    const { openIpcBus } = await import('../platform/bus/ipc/ipc-bus.ts');
    return openIpcBus(primary);
  }
  if (!isSharedStore(url)) return undefined;
  const { openPostgresBus } = await import('../platform/bus/postgres/postgres-bus.ts');
  return openPostgresBus(url, { onTrouble, onRecovery });
}
