import type { WorkerLink } from '../../cluster/hub.ts';
import { type Admission, type Counters, isRefused, type Reservation } from '../counters.ts';
import type { MemoryCounters } from '../memory/memory-counters.ts';

export type CountersService = Omit<Counters, 'close'>;

/**
 * Offers the counters of this process to a worker. When the worker ends, ends its requests and releases its
 * reservations of money. The journal of the worker has its spending, which counts once the sums of the ledger contain it.
 * Reserved tokens count for a minute.
 */
export function serveCounters(counters: MemoryCounters, { gone }: Pick<WorkerLink, 'gone'>): CountersService {
  const open = new Map<string, Admission>();
  const held = new Map<string, Reservation>();
  gone.addEventListener('abort', () => {
    for (const admission of open.values()) counters.leave(admission, { tokens: undefined, admittedAtMs: undefined });
    for (const reservation of held.values()) {
      const costsNanoUsd = reservation.claims.map(() => 0n);
      counters.settle(reservation, { atMs: 0, costsNanoUsd });
    }
  });
  return {
    admit(admission) {
      const answer = counters.admit(admission);
      if (!isRefused(answer) && admission.isConcurrent) open.set(admission.id, admission);
      return answer;
    },
    leave(admission, outcome) {
      open.delete(admission.id);
      counters.leave(admission, outcome);
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
