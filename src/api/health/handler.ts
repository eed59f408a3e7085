import { GatewayError } from '../../domain/errors.ts';

/** `GET /health`: the process lives. Needs no key and asks nobody. */
export function createHealthHandler(version: string) {
  return async (): Promise<unknown> => ({ status: 'ok', name: 'headgate', version });
}

/** `GET /ready`: work may be sent here. 503 while draining, or when the store does not answer. */
export function createReadyHandler(parts: {
  isDraining: () => boolean;
  canBook: () => boolean;
  ping: () => Promise<void>;
}) {
  return async (): Promise<unknown> => {
    if (parts.isDraining()) throw new GatewayError('unavailable', 'The gateway is shutting down.');
    if (!parts.canBook()) throw new GatewayError('unavailable', 'The ledger cannot be written.');
    try {
      await parts.ping();
    } catch (cause) {
      throw new GatewayError('unavailable', 'The store does not answer.', { cause });
    }
    return { status: 'ready' };
  };
}
