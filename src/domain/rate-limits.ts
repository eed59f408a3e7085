/** Limits of a key, a member, a workspace or a model. 0: no limit. Named as in the configuration. */
export interface RateLimits {
  /** Within 60 seconds. */
  requests_per_minute: number;
  /** Input and output, within 60 seconds. */
  tokens_per_minute: number;
  /** Requests in flight that generate something, streamed or buffered. */
  concurrent_requests: number;
}

/** The limits that are set for a caller itself, in addition to those of the configuration. */
export interface CallerRateLimits {
  key?: RateLimits | undefined;
  member?: RateLimits | undefined;
  workspace?: RateLimits | undefined;
}

export const rateLimitNames = [
  'requests_per_minute',
  'tokens_per_minute',
  'concurrent_requests',
] as const satisfies readonly (keyof RateLimits)[];

export const noRateLimits: Readonly<RateLimits> = {
  requests_per_minute: 0,
  tokens_per_minute: 0,
  concurrent_requests: 0,
};

/** The largest limit that can be set. */
export const MAX_RATE_LIMIT = 1_000_000_000_000;

/** Whether any of the limits is set. */
export const isRateLimited = (limits: RateLimits): boolean =>
  limits.requests_per_minute > 0 || limits.tokens_per_minute > 0 || limits.concurrent_requests > 0;
