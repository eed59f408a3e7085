import type { FastifyReply, FastifyRequest } from 'fastify';
import { currentTimeMs } from '../../domain/clock.ts';
import { GatewayError } from '../../domain/errors.ts';
import { proveOwnHost, type HostIdentity, HOST_PROOF, HOST_CHALLENGE } from '../interns/host-proof.ts';
import { describeSkew, NOTED_SKEW_MS } from '../../platform/clock-watch.ts';

/** `GET /health`: the process is running. Needs no key and calls nothing. Other hosts learn that it is a host of theirs. */
export function createHealthHandler(version: string, host: HostIdentity) {
  return async ({ headers }: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const challenge = headers[HOST_CHALLENGE];
    const proof = challenge === undefined ? undefined : proveOwnHost(host, challenge);
    if (proof !== undefined) reply.header(HOST_PROOF, proof);
    return { status: 'ok', name: 'headgate', version };
  };
}

export interface ReadyParts {
  isDraining: () => boolean;
  /** Whether ledger entries can be recorded. */
  canRecord: () => boolean;
  ping: () => Promise<'writable' | 'read-only'>;
  /** @throws {GatewayError} if keys and limits are too old to serve requests */
  checkFresh: () => void;
  /** Age of the keys and limits in memory. */
  accessAgeMs: () => number;
  /** Since when the store has rejected ledger entries, Unix milliseconds. */
  notStoredSinceMs: () => number | undefined;
  /** A failure of shared counters: since when (Unix milliseconds), and whether it rejects all requests. */
  describeCounters: () => { sinceMs: number; rejectsAll: boolean } | undefined;
  /** How far the clock of this host is ahead of the store's; negative: behind. */
  clockAheadMs: () => number;
}

/** Keys and limits are reloaded every half second; older ones are reported. */
const STALE_MS = 3000;

const writeSince = (ms: number): string => `since ${new Date(ms).toISOString()}`;

/**
 * `GET /ready`: whether this process accepts requests. 503 if every request would be rejected: while draining, if no
 * entry can be recorded, if keys and limits are older than `storage.grace_ms`, or if all requests need counters that do
 * not respond. Otherwise 200, and the body names problems. Hosts share their store: if a load balancer removed all of
 * them, a minor failure would become an outage.
 */
export function createReadyHandler(parts: ReadyParts) {
  let storeState: string | undefined;
  let storeSinceMs = 0;
  const noteStore = (state: string | undefined): void => {
    if (state !== storeState) storeSinceMs = currentTimeMs();
    storeState = state;
  };
  return async (): Promise<unknown> => {
    if (parts.isDraining()) throw new GatewayError('unavailable', 'The gateway is shutting down.');
    if (!parts.canRecord()) throw new GatewayError('unavailable', 'The ledger cannot be written.');
    parts.checkFresh();
    const counters = parts.describeCounters();
    if (counters?.rejectsAll) {
      const message = `The shared counters have not responded ${writeSince(counters.sinceMs)}, and all requests have limits that are counted there.`;
      throw new GatewayError('unavailable', message);
    }
    const state = await parts.ping().catch(() => 'unreachable');
    noteStore(state === 'writable' ? undefined : state);
    const ageMs = parts.accessAgeMs();
    const notStoredSinceMs = parts.notStoredSinceMs();
    const aheadMs = parts.clockAheadMs();
    return {
      status: 'ready',
      ...(storeState && { store: `${storeState} ${writeSince(storeSinceMs)}` }),
      ...(ageMs > STALE_MS && { access: `not read ${writeSince(currentTimeMs() - ageMs)}` }),
      ...(notStoredSinceMs !== undefined && { ledger: `waits in the journal ${writeSince(notStoredSinceMs)}` }),
      ...(counters && { counters: `unreachable ${writeSince(counters.sinceMs)}` }),
      ...(Math.abs(aheadMs) > NOTED_SKEW_MS && { clock: `${describeSkew(aheadMs)} the store` }),
    };
  };
}
