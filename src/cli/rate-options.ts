import type { Command } from 'commander';
import type { RateLimitBody } from '../management/rate-limit-fields.ts';
import { MAX_RATE_LIMIT } from '../domain/rate-limits.ts';
import { CommandError } from './terminal.ts';

/** Rate limits as an operator writes them: a whole number above 0, or `none`. */
export interface RateOptions {
  requestsPerMinute?: string;
  tokensPerMinute?: string;
  concurrentRequests?: string;
}

export const withRateOptions = (command: Command): Command =>
  command
    .option('--requests-per-minute <number>', 'requests within 60 seconds, or none (no limit)')
    .option('--tokens-per-minute <number>', 'tokens, input and output, within 60 seconds, or none')
    .option('--concurrent-requests <number>', 'requests in flight at a time, or none');

/** Returns the limits that were named, null for `none`. @throws {CommandError} if one is not a limit */
export function readRateOptions(options: RateOptions): RateLimitBody {
  const { requestsPerMinute, tokensPerMinute, concurrentRequests } = options;
  return {
    ...(requestsPerMinute !== undefined && {
      requests_per_minute: readLimit('--requests-per-minute', requestsPerMinute),
    }),
    ...(tokensPerMinute !== undefined && { tokens_per_minute: readLimit('--tokens-per-minute', tokensPerMinute) }),
    ...(concurrentRequests !== undefined && {
      concurrent_requests: readLimit('--concurrent-requests', concurrentRequests),
    }),
  };
}

function readLimit(option: string, text: string): number | null {
  if (text === 'none') return null;
  const limit = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (limit >= 1 && limit <= MAX_RATE_LIMIT) return limit;
  throw new CommandError(`${option} ${text}: give a whole number from 1 to ${MAX_RATE_LIMIT}, or none.`);
}
