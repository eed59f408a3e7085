import { DenseSet } from '../domain/dense-set.ts';
import type { GatewayError } from '../domain/errors.ts';

/** What is being served: who shuts down, or closes what it uses, waits for it. */
export interface OpenRequests {
  /**
   * Something is under way from now on.
   *
   * @param abort ends it from our side, where that can be done
   * @returns marks its end; to call it again does nothing
   */
  begin(abort?: (reason: GatewayError) => void, kind?: OpenKind): () => void;
  /** How many were ever begun, of all kinds. */
  readonly begun: number;
  /** How many of a kind are under way. */
  count(kind: OpenKind): number;
  /** Ends all that can be ended. It stays open until it has said its last words. */
  abort(reason: GatewayError): void;
  /** Resolves when all that is under way now has ended, or after `limitMs`. */
  settled(limitMs: number): Promise<void>;
}

/** A `request` is known from its headers on; a run within it is a `response` or a `stream`. */
export type OpenKind = 'request' | 'response' | 'stream';

export function createOpenRequests(): OpenRequests {
  const open = new DenseSet<{ abort: ((reason: GatewayError) => void) | undefined; kind: OpenKind; place: number }>();
  const counts: Record<OpenKind, number> = { request: 0, response: 0, stream: 0 };
  const waiters = new Set<(ended: object) => void>();
  let begun = 0;

  return {
    get begun() {
      return begun;
    },
    begin(abort, kind = 'request') {
      begun++;
      const request = { abort, kind, place: -1 };
      open.add(request);
      counts[kind]++;
      return () => {
        if (request.place === -1) return;
        open.delete(request);
        counts[kind]--;
        for (const tell of waiters) tell(request);
      };
    },
    count: (kind) => counts[kind],
    abort(reason) {
      for (const request of open.list()) request.abort?.(reason);
    },
    settled(limitMs) {
      const left = new Set<object>(open.list());
      if (left.size === 0) return Promise.resolve();
      return new Promise((resolve) => {
        const stop = (): void => {
          clearTimeout(limit);
          waiters.delete(tell);
          resolve();
        };
        const tell = (ended: object): void => {
          left.delete(ended);
          if (left.size === 0) stop();
        };
        const limit = setTimeout(stop, limitMs);
        waiters.add(tell);
      });
    },
  };
}
