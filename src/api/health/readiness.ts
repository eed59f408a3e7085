import { currentTimeMs } from '../../domain/clock.ts';
import { GatewayError } from '../../domain/errors.ts';
import { describeSkew, NOTED_SKEW_MS } from '../../platform/clock-watch.ts';

/** Whether one process accepts requests, and its problems. Times are Unix milliseconds of the first failure. */
export interface Readiness {
  isDraining: boolean;
  /** Since when no entry can be recorded. */
  blockedSinceMs?: number | undefined;
  /** Why keys and limits are too old to serve requests. */
  staleText?: string | undefined;
  store?: { state: 'unreachable' | 'read-only'; sinceMs: number } | undefined;
  notReadSinceMs?: number | undefined;
  notStoredSinceMs?: number | undefined;
  notArchivedSinceMs?: number | undefined;
  counters?: { sinceMs: number; rejectsAll: boolean } | undefined;
  /** The ledger exports that are late, each with the time of its oldest row. */
  lateExports?: readonly { sink: string; oldestAtMs: number }[];
  clockAheadMs: number;
}

export interface ReadinessParts {
  isDraining: () => boolean;
  /** Since when no entry can be recorded. */
  blockedSinceMs: () => number | undefined;
  ping: () => Promise<'writable' | 'read-only'>;
  /** Since when the store is known to be unreachable. */
  storeLostSinceMs: () => number | undefined;
  /** @throws {GatewayError} if keys and limits are too old to serve requests */
  checkFresh: () => void;
  /** When the keys and limits in memory were read, and how old they are. */
  lastRead: () => { atMs: number; ageMs: number };
  /** Since when the store has rejected ledger entries. */
  notStoredSinceMs: () => number | undefined;
  /** Since when days of the ledger cannot be archived. */
  notArchivedSinceMs: () => number | undefined;
  /** A failure of shared counters: since when, and whether it rejects all requests. */
  describeCounters: () => { sinceMs: number; rejectsAll: boolean } | undefined;
  /** @see Readiness.lateExports */
  lateExports: () => NonNullable<Readiness['lateExports']>;
  /** How far the clock of this host is ahead of the store's; negative: behind. */
  clockAheadMs: () => number;
}

/** Keys and limits are reloaded every half second; older ones are reported. */
const STALE_MS = 3000;

/** Creates a function that finds whether this process accepts requests. */
export function createReadinessCheck(parts: ReadinessParts): () => Promise<Readiness> {
  let store: Readiness['store'];
  return async () => {
    const isDraining = parts.isDraining();
    const state = isDraining ? 'writable' : await parts.ping().catch(() => 'unreachable' as const);
    const lostSinceMs = state === 'unreachable' ? parts.storeLostSinceMs() : undefined;
    const knownSinceMs = store?.state === state ? store.sinceMs : currentTimeMs();
    store = state === 'writable' ? undefined : { state, sinceMs: Math.min(knownSinceMs, lostSinceMs ?? knownSinceMs) };
    const { atMs, ageMs } = parts.lastRead();
    return {
      isDraining,
      blockedSinceMs: parts.blockedSinceMs(),
      staleText: readMessage(parts.checkFresh),
      store,
      notReadSinceMs: ageMs > STALE_MS ? atMs : undefined,
      notStoredSinceMs: parts.notStoredSinceMs(),
      notArchivedSinceMs: parts.notArchivedSinceMs(),
      counters: parts.describeCounters(),
      lateExports: parts.lateExports(),
      clockAheadMs: parts.clockAheadMs(),
    };
  };
}

function readMessage(check: () => void): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

const writeSince = (ms: number): string => `since ${new Date(ms).toISOString()}`;

/**
 * Writes the body of `GET /ready` for all processes of this host that serve requests. A time is that of the first of
 * them.
 *
 * @param found undefined for a process that does not respond or is being replaced
 * @throws {GatewayError} `unavailable` if one of them rejects every request
 */
export function writeReadiness(found: readonly (Readiness | undefined)[]): Record<string, string> {
  const all = found.filter((each) => each !== undefined);
  const first = (read: (each: Readiness) => number | undefined): number | undefined => {
    const times = all.flatMap((each) => read(each) ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  };
  if (all.some(({ isDraining }) => isDraining)) throw new GatewayError('unavailable', 'The gateway is shutting down.');
  const blockedMs = first(({ blockedSinceMs }) => blockedSinceMs);
  if (blockedMs !== undefined) {
    const blocked = all.filter(({ blockedSinceMs }) => blockedSinceMs !== undefined).length;
    const who = found.length === 1 ? '' : ` by ${blocked} of ${found.length} workers`;
    throw new GatewayError('unavailable', `The ledger cannot be written${who} ${writeSince(blockedMs)}.`);
  }
  const staleText = all.find((each) => each.staleText !== undefined)?.staleText;
  if (staleText !== undefined) throw new GatewayError('unavailable', staleText, { retryAfterSeconds: 5 });
  const countersMs = first(({ counters }) => counters?.sinceMs);
  if (countersMs !== undefined && all.some(({ counters }) => counters?.rejectsAll)) {
    const message = `The shared counters have not responded ${writeSince(countersMs)}, and all requests have limits that are counted there.`;
    throw new GatewayError('unavailable', message);
  }
  const state = all.find(({ store }) => store !== undefined)?.store?.state;
  const storeMs = first(({ store }) => (store?.state === state ? store?.sinceMs : undefined));
  const notReadMs = first(({ notReadSinceMs }) => notReadSinceMs);
  const notStoredMs = first(({ notStoredSinceMs }) => notStoredSinceMs);
  const late = all.flatMap(({ lateExports = [] }) => lateExports);
  const notArchivedMs = first(({ notArchivedSinceMs }) => notArchivedSinceMs);
  const aheadMs = all.find(({ clockAheadMs }) => Math.abs(clockAheadMs) > NOTED_SKEW_MS)?.clockAheadMs;
  return {
    status: 'ready',
    ...(all.length < found.length && { workers: `${all.length} of ${found.length} respond` }),
    ...(state && storeMs !== undefined && { store: `${state} ${writeSince(storeMs)}` }),
    ...(notReadMs !== undefined && { access: `not read ${writeSince(notReadMs)}` }),
    ...(notStoredMs !== undefined && { ledger: `waits in the journal ${writeSince(notStoredMs)}` }),
    ...(late.length > 0 && {
      exports: late.map(({ sink, oldestAtMs }) => `${sink} waits ${writeSince(oldestAtMs)}`).join(', '),
    }),
    ...(notArchivedMs !== undefined && { archive: `failing ${writeSince(notArchivedMs)}` }),
    ...(countersMs !== undefined && { counters: `unreachable ${writeSince(countersMs)}` }),
    ...(aheadMs !== undefined && { clock: `${describeSkew(aheadMs)} the store` }),
  };
}
