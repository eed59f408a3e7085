import { GatewayError } from '../../../domain/errors.ts';
import type { Peer } from '../../cluster/peer.ts';
import type { Admission, Counters } from '../counters.ts';
import type { CountersService } from './serve.ts';

/** The name of the service in the primary. */
export const countersService = 'counters';

/**
 * Opens the counters of the primary in a worker. Ignores failures to end a request, because the counts end with the
 * primary.
 */
export function openRemoteCounters(primary: Peer): Counters {
  const service = primary.use<CountersService>(countersService);
  return {
    admit: (admission) => service.admit(trim(admission)).catch(explain),
    leave: (admission, outcome) => service.leave(trim(admission), outcome).catch(() => {}),
    reserve: (reservation) => service.reserve(reservation).catch(explain),
    settle: (reservation, settlement) => service.settle(reservation, settlement).catch(() => {}),
    ping: () => service.ping(),
    close: async () => {},
  };
}

/** Removes fields of scopes that only their owner needs. */
const trim = ({ id, scopes, isConcurrent, tokens, leaseMs }: Admission): Admission => ({
  id,
  isConcurrent,
  tokens,
  leaseMs,
  scopes: scopes.map(({ id, limits: { requests_per_minute, tokens_per_minute, concurrent_requests } }) => {
    return { id, limits: { requests_per_minute, tokens_per_minute, concurrent_requests } };
  }),
});

/** Converts the error: a worker shuts down with its primary. */
function explain(cause: unknown): never {
  const message = 'The gateway is shutting down; send the request to another one.';
  throw new GatewayError('unavailable', message, { cause, retryAfterSeconds: 1 });
}
