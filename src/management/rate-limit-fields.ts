import { Type } from 'typebox';
import { MAX_RATE_LIMIT, noRateLimits, type RateLimits, rateLimitNames } from '../domain/rate-limits.ts';
import { maybe } from '../schema/shapes.ts';

const limit = maybe(Type.Integer({ minimum: 1, maximum: MAX_RATE_LIMIT }));

/** Rate limits in the bodies of keys, members and workspaces. Null means no limit. */
export const rateLimitFields = { requests_per_minute: limit, tokens_per_minute: limit, concurrent_requests: limit };

/** The limits that a body or the command line names. */
export type RateLimitBody = { [Name in keyof RateLimits]?: number | null | undefined };

/** Returns the limits after a checked body: a field that is absent keeps its value. */
export function readRateLimits(body: RateLimitBody, before: RateLimits = noRateLimits): RateLimits {
  const limits = { ...before };
  for (const name of rateLimitNames) if (body[name] !== undefined) limits[name] = body[name] ?? 0;
  return limits;
}

/** Rate limits as the management API and the audit log show them. */
export const writeRateLimits = (limits: RateLimits): Record<keyof RateLimits, number | null> => ({
  requests_per_minute: limits.requests_per_minute || null,
  tokens_per_minute: limits.tokens_per_minute || null,
  concurrent_requests: limits.concurrent_requests || null,
});
