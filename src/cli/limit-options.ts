import type { KeyLimitsBody } from '../management/keys/schema.ts';
import { nanoUsdOf, usdOf } from '../metering/cost.ts';
import type { LimitReset } from '../platform/storage/ports/keys.ts';
import { CommandError } from './terminal.ts';

/** The spending limit of a key, as options. */
export interface LimitOptions {
  /** USD, or `none`. */
  limit?: string;
  /** `daily`, `weekly`, `monthly`, or `never`. */
  limitReset?: string;
  includeByok?: boolean;
}

const resets = ['daily', 'weekly', 'monthly'] as const satisfies readonly LimitReset[];

/**
 * Returns the given limits under their names in the API.
 *
 * @throws {CommandError} if one is not valid
 */
export function readLimits({ limit, limitReset, includeByok }: LimitOptions): KeyLimitsBody {
  const reset = resets.find((each) => each === limitReset);
  if (limitReset !== undefined && limitReset !== 'never' && !reset) {
    throw new CommandError(`--limit-reset ${limitReset}: give ${resets.join(', ')} or never.`);
  }
  return {
    ...(limit !== undefined && { limit: limit === 'none' ? null : usdOf(readDollars('--limit', limit)) }),
    ...(limitReset !== undefined && { limit_reset: reset ?? null }),
    ...(includeByok !== undefined && { include_byok_in_limit: includeByok }),
  };
}

/** JSON numbers express larger amounts of nano-dollars inexactly. */
const MAX_DOLLARS = 9_000_000;

/**
 * Returns an amount in nano-dollars.
 *
 * @throws {CommandError} if it is not an amount in USD with at most nine decimals
 */
export function readDollars(option: string, text: string): bigint {
  const dollars = Number(text);
  if (dollars > MAX_DOLLARS) throw new CommandError(`${option} ${text}: the maximum is ${MAX_DOLLARS} USD.`);
  if (!/^\d+(\.\d{1,9})?$/.test(text)) {
    throw new CommandError(`${option} ${text}: give a sum in USD, like 25 or 0.50, with at most nine decimals.`);
  }
  return nanoUsdOf(dollars);
}
