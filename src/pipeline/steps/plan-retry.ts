import type { GatewayError } from '../../domain/errors.ts';
import type { RetryPolicy } from '../../domain/retry-policy.ts';

export interface RetryState {
  failure: Pick<GatewayError, 'isTransient' | 'retryAfterSeconds'>;
  /** Attempts at the endpoint so far, at least 1. */
  attempts: number;
  /** Since the first attempt of the request. */
  elapsedMs: number;
  /** Until the deadline of the request. */
  leftMs: number;
  /** 0 up to 1. */
  random: () => number;
}

/**
 * Returns how long to wait before a request is sent to the same endpoint again: exponential backoff with full jitter,
 * in addition to the wait that the provider requests.
 *
 * @returns undefined if it must not be sent again
 * @see docs/reference/routing.md#retries
 */
export function planRetry(policy: RetryPolicy, state: RetryState): number | undefined {
  const { failure, attempts, elapsedMs, leftMs, random } = state;
  if (!failure.isTransient || attempts >= policy.attempts) return undefined;
  const retryAfterMs = (failure.retryAfterSeconds ?? 0) * 1000;
  if (retryAfterMs > policy.maxRetryAfterMs) return undefined;
  const backoffMs = Math.min(policy.backoffMs * 2 ** (attempts - 1), policy.maxBackoffMs);
  const delayMs = retryAfterMs + random() * backoffMs;
  return elapsedMs + delayMs <= policy.budgetMs && delayMs < leftMs ? delayMs : undefined;
}
