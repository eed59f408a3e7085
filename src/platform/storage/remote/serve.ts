import type { WorkerLink } from '../../cluster/hub.ts';
import type { Change, ManagementStore, ManagementTransaction } from '../ports/management.ts';
import type { Storage } from '../storage.ts';

/** The store as a worker reaches it. All but a change is a call for each method. */
export interface StorageService extends Omit<Storage, 'management' | 'close'> {
  readonly management: Omit<ManagementStore, 'change'>;
  readonly changes: ChangeService;
}

/** A change, asked piece by piece: its work is done in the worker, its transaction is open here. */
export interface ChangeService {
  /** @returns the number to ask with, once it is this change's turn */
  begin(change: Change): Promise<number>;
  ask(id: number, method: keyof ManagementTransaction, args: readonly unknown[]): unknown;
  /** The work is done. Resolves when all of it is durable, or undone because nothing was recorded. */
  commit(id: number): Promise<void>;
  undo(id: number): Promise<void>;
}

interface OpenChange {
  transaction: ManagementTransaction;
  end: PromiseWithResolvers<void>;
  /** Settles with its outcome. */
  done: Promise<void>;
}

/** The embedded store does nothing else during a change, so an unresponsive worker must not block the others. */
const LONGEST_CHANGE_MS = 10_000;

/** Offers a store to a worker. Changes that are open when the worker ends are undone. */
export function serveStorage(
  storage: Storage,
  { gone }: Pick<WorkerLink, 'gone'>,
  longestChangeMs = LONGEST_CHANGE_MS,
): StorageService {
  const { close: _, ...offered } = storage; // it is not theirs to close
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
    if (!found) throw new Error(`The change took longer than ${longestMs / 1000} s and was undone; try again.`);
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
        begun.reject(error); // in vain when it has begun
      };
      done.then(close, close);
      return begun.promise;
    },
    ask(id, method, args) {
      const { transaction } = find(id);
      return Reflect.apply(transaction[method], transaction, args); // the other end has typed them
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
