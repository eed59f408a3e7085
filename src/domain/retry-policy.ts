/** The rules of retries at the same endpoint. */
export interface RetryPolicy {
  /** Maximum attempts at one endpoint per request, including the first. */
  attempts: number;
  /** Maximum delay before the first retry. Doubles with each further one. */
  backoffMs: number;
  maxBackoffMs: number;
  /** Maximum `Retry-After`. A provider that sends a longer one is not retried. */
  maxRetryAfterMs: number;
  /** No retry starts later than this after the first attempt of the request. */
  budgetMs: number;
  /** Maximum retries of a provider in 60 seconds, as a share of its requests: 0 to 1. */
  share: number;
  /** Retries in 60 seconds that are always allowed. */
  minimum: number;
}
