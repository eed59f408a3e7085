import type { WorkerLink } from '../../cluster/hub.ts';
import type { Admission, Counters, Reservation } from '../counters.ts';
import type { MemoryCounters } from '../memory/memory-counters.ts';

export type CountersService = Omit<Counters, 'close'>;

/**
 * Offers the counters of this process to a worker. When the worker ends, closes its streams and releases its
 * reservations. The journal of the worker has its spending, which counts once the sums of the ledger contain it.
 */
export function serveCounters(counters: MemoryCounters, { gone }: Pick<WorkerLink, 'gone'>): CountersService {
  const streams = new Map<string, Admission>();
  const held = new Map<string, Reservation>();
  gone.addEventListener('abort', () => {
    for (const admission of streams.values()) counters.leave(admission, 0);
    for (const reservation of held.values()) {
      const costsNanoUsd = reservation.claims.map(() => 0n);
      counters.settle(reservation, { atMs: 0, costsNanoUsd });
    }
  });
  return {
    admit(admission) {
      const refusal = counters.admit(admission);
      if (!refusal && admission.isStream) streams.set(admission.id, admission);
      return refusal;
    },
    leave(admission, tokens, isTakenBack) {
      streams.delete(admission.id);
      counters.leave(admission, tokens, isTakenBack);
    },
    reserve(reservation) {
      const refusal = counters.reserve(reservation);
      if (!refusal) held.set(reservation.id, reservation);
      return refusal;
    },
    settle(reservation, settlement) {
      held.delete(reservation.id);
      counters.settle(reservation, settlement);
    },
    ping: () => counters.ping(),
  };
}
