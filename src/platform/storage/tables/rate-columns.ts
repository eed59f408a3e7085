import type { RateLimits } from '../../../domain/rate-limits.ts';
import type { NullableInteger } from './columns.ts';

/** Columns of `keys` and `members`. Null: no limit. */
export interface RateColumns {
  requests_per_minute: NullableInteger;
  tokens_per_minute: NullableInteger;
  concurrent_requests: NullableInteger;
}
type RateValues = Record<keyof RateColumns, bigint | null>;

export const readRates = (row: RateValues): RateLimits => ({
  requests_per_minute: Number(row.requests_per_minute ?? 0),
  tokens_per_minute: Number(row.tokens_per_minute ?? 0),
  concurrent_requests: Number(row.concurrent_requests ?? 0),
});

export const writeRates = (limits: RateLimits) => ({
  requests_per_minute: limits.requests_per_minute || null,
  tokens_per_minute: limits.tokens_per_minute || null,
  concurrent_requests: limits.concurrent_requests || null,
});
