import { DenseSet } from '../domain/dense-set.ts';
import type { GatewayError } from '../domain/errors.ts';

/** The requests in flight. A shutdown waits for them. */
export interface OpenRequests {
  /**
   * Registers a request in flight.
   *
   * @param abort ends it from our side, if possible
   * @returns a function that marks its end; idempotent
   */
  begin(abort?: (reason: GatewayError) => void, kind?: OpenKind): () => void;
  /** Number of requests ever registered, of all kinds. */
  readonly begun: number;
  /** Number of requests of a kind in flight. */
  count(kind: OpenKind): number;
  /** Aborts all requests. They stay registered until they have ended. */
  abort(reason: GatewayError): void;
  /** Resolves when all current requests have ended, or after `limitMs`. */
  settled(limitMs: number): Promise<void>;
}

/** A `request` starts with its headers. A run within it is a `response` or a `stream`. */
export type OpenKind = 'request' | 'response' | 'stream';

export function createOpenRequests(): OpenRequests {
  const open = new DenseSet<{ abort: ((reason: GatewayError) => void) | undefined; kind: OpenKind; place: number }>();
  const counters: Record<OpenKind, { open: number }> = {
    request: { open: 0 },
    response: { open: 0 },
    stream: { open: 0 },
  };
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
      const counter = counters[kind];
      counter.open++;
      return () => {
        if (request.place === -1) return;
        open.delete(request);
        counter.open--;
        for (const notify of waiters) notify(request);
      };
    },
    count: (kind) => counters[kind].open,
    abort(reason) {
      for (const request of open.list()) request.abort?.(reason);
    },
    settled(limitMs) {
      const left = new Set<object>(open.list());
      if (left.size === 0) return Promise.resolve();
      return new Promise((resolve) => {
        const stop = (): void => {
          clearTimeout(limit);
          waiters.delete(notify);
          resolve();
        };
        const notify = (ended: object): void => {
          left.delete(ended);
          if (left.size === 0) stop();
        };
        const limit = setTimeout(stop, limitMs);
        waiters.add(notify);
      });
    },
  };
}
