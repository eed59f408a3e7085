import { GatewayError } from '../../domain/errors.ts';

/** `GET /health`: the process lives. Needs no key and asks nobody. */
export function createHealthHandler(version: string) {
  return async (): Promise<unknown> => ({ status: 'ok', name: 'headgate', version });
}

export interface ReadyParts {
  isDraining: () => boolean;
  canRecord: () => boolean;
  ping: () => Promise<void>;
  /** @throws {GatewayError} once the store has been gone for so long that nothing is served from memory any more */
  checkFresh: () => void;
  now?: () => number;
}

/**
 * `GET /ready`: work may be sent here. 503 while nothing would be served: while draining, when nothing can be booked, and
 * when the store has been gone for longer than memory stands in for it. Until then the answer tells that it is gone: the
 * store is one for all hosts, and a balancer that took them all out would make an outage of it.
 */
export function createReadyHandler(parts: ReadyParts) {
  const { now = Date.now } = parts;
  let goneSinceMs: number | undefined;
  return async (): Promise<unknown> => {
    if (parts.isDraining()) throw new GatewayError('unavailable', 'The gateway is shutting down.');
    if (!parts.canRecord()) throw new GatewayError('unavailable', 'The ledger cannot be written.');
    try {
      await parts.ping();
      goneSinceMs = undefined;
    } catch {
      goneSinceMs ??= now();
      parts.checkFresh();
      return { status: 'ready', store: `unreachable since ${new Date(goneSinceMs).toISOString()}` };
    }
    return { status: 'ready' };
  };
}
