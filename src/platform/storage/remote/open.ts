import type { Peer } from '../../cluster/peer.ts';
import type { Change, ManagementStore, ManagementTransaction } from '../ports/management.ts';
import type { Storage } from '../storage.ts';
import type { StorageService } from './serve.ts';

/** The name of the service in the primary. */
export const storageService = 'storage';

/**
 * Opens the store of the primary in a worker. Only one process writes the embedded store, because four writers blocked
 * each other's event loops for up to 236 ms.
 *
 * Rejects with the error of the store, and with a `PeerClosedError` if the primary has ended.
 */
export function openRemoteStorage(primary: Peer): Storage {
  const closed = new AbortController();
  const service = primary.use<StorageService>(storageService, closed.signal);
  const { changes } = service;

  async function change<Result>(
    change: Change,
    work: (transaction: ManagementTransaction) => Promise<Result>,
  ): Promise<Result> {
    const id = await changes.begin(change);
    let result: Result;
    try {
      result = await work(openTransaction(id));
    } catch (error) {
      await changes.undo(id).catch(() => {}); // already rolled back, or the primary has ended
      throw error;
    }
    await changes.commit(id);
    return result;
  }

  /** Forwards every method. */
  const openTransaction = (id: number): ManagementTransaction =>
    new Proxy({} as ManagementTransaction, {
      get: (_, method) => {
        if (typeof method === 'symbol' || method === 'then') return undefined;
        return (...args: unknown[]) => changes.ask(id, method as keyof ManagementTransaction, args);
      },
    });

  return extend(service, {
    management: extend(service.management, { change }) as ManagementStore, // only `change` was missing
    async close() {
      closed.abort(new Error('The store was closed.'));
    },
  });
}

/** Adds members to an object, and forwards all others. */
const extend = <Target extends object, More extends object>(target: Target, more: More): Target & More =>
  new Proxy(target, {
    get: (_, name) => Reflect.get(Object.hasOwn(more, name) ? more : target, name),
  }) as Target & More;
