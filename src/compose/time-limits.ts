import type { Config } from '../config/schema.ts';

/** The longest that a request of any kind may take. */
export const longestRequestMs = ({ timeouts, images }: Pick<Config, 'timeouts' | 'images'>): number =>
  Math.max(timeouts.request_ms, images.request_ms, images.stream_ms);

/** How long an aborted stream has to tell its client so, and a store to say good-bye. */
export const SHUTDOWN_GRACE_MS = 1000;
/** How long the store has to show that it is there. */
export const PING_MS = 2000;
/** How long the last entries have to reach the store. Those that do not stay in the journal. */
export const FLUSH_MS = 3000;
