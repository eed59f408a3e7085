/** When a request is sent to the same endpoint again. */
export interface RetryPolicy {
  /** The most attempts at one endpoint for a request, the first included. */
  attempts: number;
  /** The longest delay before the first retry; it doubles with each further one. */
  backoffMs: number;
  maxBackoffMs: number;
  /** A provider that asks for a longer wait is not tried again. */
  maxRetryAfterMs: number;
  /** No retry starts later than this after the first attempt of the request. */
  budgetMs: number;
  /** The most retries of a provider in 60 seconds, as a share of its requests: 0 to 1. */
  share: number;
  /** As many retries in 60 seconds are allowed in any case. */
  minimum: number;
}
