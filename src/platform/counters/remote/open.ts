import { GatewayError } from '../../../domain/errors.ts';
import type { Peer } from '../../cluster/peer.ts';
import type { Admission, Counters } from '../counters.ts';
import type { CountersService } from './serve.ts';

/** Its name among the services of the primary. */
export const countersService = 'counters';

/** The counters of the primary, as a worker sees them. Requests that end after the primary need not be ended. */
export function openRemoteCounters(primary: Peer): Counters {
  const service = primary.use<CountersService>(countersService);
  return {
    admit: (admission) => service.admit(trim(admission)).catch(explain),
    leave: (admission, tokens, isTakenBack) => service.leave(trim(admission), tokens, isTakenBack).catch(() => {}),
    reserve: (reservation) => service.reserve(reservation).catch(explain),
    settle: (reservation, settlement) => service.settle(reservation, settlement).catch(() => {}),
    ping: () => service.ping(),
    close: async () => {},
  };
}

/** Removes fields of scopes that only their owner needs. */
const trim = ({ id, scopes, isStream, leaseMs }: Admission): Admission => ({
  id,
  isStream,
  leaseMs,
  scopes: scopes.map(({ id, limits: { requests_per_minute, tokens_per_minute, concurrent_streams } }) => {
    return { id, limits: { requests_per_minute, tokens_per_minute, concurrent_streams } };
  }),
});

/** A worker ends with its primary. */
function explain(cause: unknown): never {
  const message = 'The gateway is shutting down; send the request to another one.';
  throw new GatewayError('unavailable', message, { cause, retryAfterSeconds: 1 });
}
