import type { WorkerLink } from '../../cluster/hub.ts';
import type { Change, ManagementStore, ManagementTransaction } from '../ports/management.ts';
import type { Storage } from '../storage.ts';

/** The store from the view of a worker. Every method except `change` is one call. */
export interface StorageService extends Omit<Storage, 'management' | 'close'> {
  readonly management: Omit<ManagementStore, 'change'>;
  readonly changes: ChangeService;
}

/** A change in several calls. Its work runs in the worker, and its transaction is open in this process. */
export interface ChangeService {
  /**
   * Begins a change when no other change is open.
   *
   * @returns its number for the other calls
   */
  begin(change: Change): Promise<number>;
  ask(id: number, method: keyof ManagementTransaction, args: readonly unknown[]): unknown;
  /** Ends a change. Resolves when it is durable, or rolled back because nothing was recorded. */
  commit(id: number): Promise<void>;
  undo(id: number): Promise<void>;
}

interface OpenChange {
  transaction: ManagementTransaction;
  end: PromiseWithResolvers<void>;
  /** Settles with its outcome. */
  done: Promise<void>;
}

/**
 * Maximum duration of a change. The embedded store does nothing else meanwhile, so an unresponsive worker must not
 * block the others.
 */
const LONGEST_CHANGE_MS = 10_000;

/** Offers a store to a worker. Rolls back its open changes when the worker ends. */
export function serveStorage(
  storage: Storage,
  { gone }: Pick<WorkerLink, 'gone'>,
  longestChangeMs = LONGEST_CHANGE_MS,
): StorageService {
  const { close: _, ...offered } = storage; // a worker must not close it
  return { ...offered, changes: serveChanges(storage.management, gone, longestChangeMs) };
}

function serveChanges(management: ManagementStore, gone: AbortSignal, longestMs: number): ChangeService {
  const open = new Map<number, OpenChange>();
  let changes = 0;
  gone.addEventListener('abort', () => {
    for (const { end } of open.values()) end.reject(new Error('The worker ended in the middle of a change.'));
  });

  function find(id: number): OpenChange {
    const found = open.get(id);
    if (!found) throw new Error(`The change took longer than ${longestMs / 1000} s and was rolled back; try again.`);
    return found;
  }

  return {
    async begin(change) {
      const id = ++changes;
      const begun = Promise.withResolvers<number>();
      const end = Promise.withResolvers<void>();
      let limit: NodeJS.Timeout | undefined;
      const done = management.change(change, (transaction) => {
        if (gone.aborted) throw new Error('The worker ended before its change began.');
        limit = setTimeout(() => end.reject(new Error('The change took too long.')), longestMs);
        open.set(id, { transaction, end, done });
        begun.resolve(id);
        return end.promise;
      });
      const close = (error?: unknown): void => {
        clearTimeout(limit);
        open.delete(id);
        begun.reject(error); // no effect if it has begun
      };
      done.then(close, close);
      return begun.promise;
    },
    ask(id, method, args) {
      const { transaction } = find(id);
      return Reflect.apply(transaction[method], transaction, args); // the types of the worker's end ensure this
    },
    async commit(id) {
      const { end, done } = find(id);
      end.resolve();
      await done;
    },
    async undo(id) {
      const { end, done } = find(id);
      end.reject(new Error('undone'));
      await done.catch(() => {});
    },
  };
}
