import type { RateLimits } from '../../domain/rate-limits.ts';
import { RollingCounts } from '../../domain/rolling-counts.ts';
import type { Admission, RateRefusal } from './counters.ts';

export const WINDOW_MS = 60_000;
const SLICES = 60;
const REQUESTS = 0;
const TOKENS = 1;
/** Retry delay of the stream limit. The end of a stream cannot be predicted. */
const STREAM_RETRY_MS = 1000;

/** The counts of one scope in the last 60 seconds, in slices of one second, and its open streams. */
export class RateWindow {
  readonly counts = new RollingCounts(WINDOW_MS / SLICES, SLICES, 2);
  /** Admission → when it counts as closed, Unix milliseconds. */
  readonly streams = new Map<string, number>();
}

/** @param windows of the scopes, in their order */
export function admitTo(
  windows: readonly RateWindow[],
  { id, scopes, isStream, leaseMs }: Admission,
  nowMs: number,
): RateRefusal | undefined {
  for (let scope = 0; scope < scopes.length; scope++) {
    windows[scope]!.counts.forgetAhead(nowMs);
    const refusal = check(windows[scope]!, scopes[scope]!.limits, isStream, nowMs);
    if (refusal) return { scope, ...refusal };
  }
  for (const [scope, window] of windows.entries()) {
    window.counts.add(REQUESTS, nowMs);
    if (isStream && scopes[scope]!.limits.concurrent_streams > 0) window.streams.set(id, nowMs + leaseMs);
  }
  return undefined;
}

/** @param windows of the scopes, in their order */
export function leaveFrom(
  windows: readonly RateWindow[],
  { id }: Admission,
  { tokens, isTakenBack }: { tokens: number; isTakenBack: boolean },
  nowMs: number,
): void {
  for (const window of windows) {
    if (isTakenBack) window.counts.takeBack(REQUESTS, nowMs);
    if (tokens > 0) window.counts.add(TOKENS, nowMs, tokens);
    window.streams.delete(id);
  }
}

function check(
  { counts, streams }: RateWindow,
  limits: RateLimits,
  isStream: boolean,
  nowMs: number,
): Omit<RateRefusal, 'scope'> | undefined {
  const { requests_per_minute: requests, tokens_per_minute: tokens, concurrent_streams: open } = limits;
  if (requests > 0 && counts.sum(REQUESTS, nowMs) >= requests) {
    return { limit: 'requests_per_minute', freeInMs: counts.freeAt(REQUESTS, requests, nowMs) - nowMs };
  }
  if (tokens > 0 && counts.sum(TOKENS, nowMs) >= tokens) {
    return { limit: 'tokens_per_minute', freeInMs: counts.freeAt(TOKENS, tokens, nowMs) - nowMs };
  }
  if (!isStream || open === 0 || streams.size < open) return undefined;
  for (const [id, closedAtMs] of streams) if (closedAtMs <= nowMs) streams.delete(id);
  return streams.size < open ? undefined : { limit: 'concurrent_streams', freeInMs: STREAM_RETRY_MS };
}
