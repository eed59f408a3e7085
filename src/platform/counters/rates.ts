import type { RateLimits } from '../../domain/rate-limits.ts';
import { RollingCounts } from '../../domain/rolling-counts.ts';
import type { Admission, AdmissionOutcome, RateDecision, RateRefusal } from './counters.ts';

export const WINDOW_MS = 60_000;
const SLICES = 60;
const REQUESTS = 0;
const TOKENS = 1;
/** Tokens that are reserved for requests in flight. */
const RESERVED = 2;
/** Retry delay of the limit of concurrent requests. The end of a request cannot be predicted. */
export const PLACE_RETRY_MS = 1000;
/** Retry delay if requests in flight have reserved the rest of the tokens. They return what they do not use. */
export const RESERVED_RETRY_MS = 5000;

/** The counts of one scope in the last 60 seconds, in slices of one second, and its requests in flight. */
export class RateWindow {
  readonly counts = new RollingCounts(WINDOW_MS / SLICES, SLICES, 3);
  /** Admission → when it counts as ended, Unix milliseconds. */
  readonly open = new Map<string, number>();
}

/** @param windows of the scopes, in their order */
export function admitTo(
  windows: readonly RateWindow[],
  { id, scopes, isConcurrent, tokens, leaseMs }: Admission,
  nowMs: number,
): RateDecision {
  for (let scope = 0; scope < scopes.length; scope++) {
    windows[scope]!.counts.forgetAhead(nowMs);
    const refusal = check(windows[scope]!, scopes[scope]!.limits, { isConcurrent, tokens }, nowMs);
    if (refusal) return { scope, ...refusal };
  }
  const counts = windows.map((window, scope) => {
    window.counts.add(REQUESTS, nowMs);
    if (tokens > 0) window.counts.add(RESERVED, nowMs, tokens);
    if (isConcurrent && scopes[scope]!.limits.concurrent_requests > 0) window.open.set(id, nowMs + leaseMs);
    return {
      requests: window.counts.sum(REQUESTS, nowMs),
      tokens: window.counts.sum(TOKENS, nowMs) + window.counts.sum(RESERVED, nowMs),
    };
  });
  return { atMs: nowMs, counts };
}

/** @param windows of the scopes, in their order */
export function leaveFrom(
  windows: readonly RateWindow[],
  { id, tokens: reserved }: Admission,
  { tokens, admittedAtMs, isTakenBack }: AdmissionOutcome,
  nowMs: number,
): void {
  for (const { counts, open } of windows) {
    if (isTakenBack) counts.takeBack(REQUESTS, nowMs);
    if (tokens !== undefined && admittedAtMs !== undefined) counts.remove(RESERVED, admittedAtMs, reserved, nowMs);
    if (tokens) counts.add(TOKENS, nowMs, tokens);
    open.delete(id);
  }
}

/**
 * Compares a request with the limits of a scope. A request that is larger than what is left of the tokens is admitted
 * if no other request has reserved any, so that it never waits for ever.
 */
function check(
  { counts, open }: RateWindow,
  limits: RateLimits,
  { isConcurrent, tokens: wanted }: Pick<Admission, 'isConcurrent' | 'tokens'>,
  nowMs: number,
): Omit<RateRefusal, 'scope'> | undefined {
  const { requests_per_minute: requests, tokens_per_minute: tokens, concurrent_requests: places } = limits;
  const full = { remaining: 0, isReserved: false };
  if (requests > 0 && counts.sum(REQUESTS, nowMs) >= requests) {
    return { limit: 'requests_per_minute', ...full, freeInMs: counts.freeAt(REQUESTS, requests, nowMs) - nowMs };
  }
  if (tokens > 0) {
    const used = counts.sum(TOKENS, nowMs);
    if (used >= tokens) {
      return { limit: 'tokens_per_minute', ...full, freeInMs: counts.freeAt(TOKENS, tokens, nowMs) - nowMs };
    }
    const reserved = counts.sum(RESERVED, nowMs);
    if (reserved > 0 && used + reserved + wanted > tokens) {
      const remaining = Math.max(0, tokens - used - reserved);
      return { limit: 'tokens_per_minute', remaining, isReserved: true, freeInMs: RESERVED_RETRY_MS };
    }
  }
  if (!isConcurrent || places === 0 || open.size < places) return undefined;
  for (const [id, endsAtMs] of open) if (endsAtMs <= nowMs) open.delete(id);
  return open.size < places ? undefined : { limit: 'concurrent_requests', ...full, freeInMs: PLACE_RETRY_MS };
}
