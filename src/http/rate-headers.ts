import type { RateLimit } from '../domain/errors.ts';
import { currentTimeMs } from '../domain/clock.ts';

/** Writes what is left of the rate limits, in the headers that the clients of one API read. */
export type WriteRateHeaders = (rests: readonly RateLimit[], nowMs?: number) => Record<string, string>;

/**
 * Writes the headers of OpenAI. Their resets are durations in the syntax of Go.
 *
 * @see https://github.com/sashabaranov/go-openai/blob/master/ratelimit.go
 */
export const writeRateHeaders: WriteRateHeaders = (rests, nowMs = currentTimeMs()) =>
  write(rests, ({ unit, limit, remaining, resetAtMs }) => [
    [`x-ratelimit-limit-${unit}`, limit],
    [`x-ratelimit-remaining-${unit}`, remaining],
    [`x-ratelimit-reset-${unit}`, `${Math.max(0, Math.ceil((resetAtMs - nowMs) / 1000))}s`],
  ]);

/**
 * Writes the headers of Anthropic. Their resets are times of RFC 3339.
 *
 * @see https://docs.rs/adk-rust/latest/adk_rust/model/anthropic/struct.RateLimitInfo.html
 */
export const writeAnthropicRateHeaders: WriteRateHeaders = (rests) =>
  write(rests, ({ unit, limit, remaining, resetAtMs }) => [
    [`anthropic-ratelimit-${unit}-limit`, limit],
    [`anthropic-ratelimit-${unit}-remaining`, remaining],
    [
      `anthropic-ratelimit-${unit}-reset`,
      `${new Date(Math.ceil(resetAtMs / 1000) * 1000).toISOString().slice(0, 19)}Z`,
    ],
  ]);

const write = (
  rests: readonly RateLimit[],
  writeOne: (rest: RateLimit) => [name: string, value: string | number][],
): Record<string, string> =>
  Object.fromEntries(
    rests.filter(({ unit }) => unit).flatMap((rest) => writeOne(rest).map(([name, value]) => [name, String(value)])),
  );

/** Names of all these headers, for browsers. */
export const rateHeaderNames: readonly string[] = [writeRateHeaders, writeAnthropicRateHeaders].flatMap((writeOf) =>
  (['requests', 'tokens'] as const).flatMap((unit) =>
    Object.keys(writeOf([{ unit, limit: 0, remaining: 0, resetAtMs: 0 }], 0)),
  ),
);
