import type { Config } from '../config/schema.ts';

/** Returns the maximum duration of a request of any kind. */
export const longestRequestMs = ({ timeouts, images }: Pick<Config, 'timeouts' | 'images'>): number =>
  Math.max(timeouts.request_ms, images.request_ms, images.stream_ms);

/** Time for an aborted stream to end, and for a store to close. */
export const SHUTDOWN_GRACE_MS = 1000;
/** Time limit of a ping of the store. */
export const PING_MS = 2000;
/** Time for the last entries to reach the store. The remaining entries stay in the journal. */
export const FLUSH_MS = 3000;
/** Time in which load balancers notice that `/ready` is a 503. */
export const DRAIN_MS = 5000;
/** `/ready` is polled if it was requested within this time. */
export const POLLED_MS = 60_000;
