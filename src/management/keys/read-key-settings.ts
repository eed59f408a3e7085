import { nanoUsdOf } from '../../metering/cost.ts';
import { type KeyRecord, defaultKeySettings } from '../../platform/storage/ports/keys.ts';
import { readRateLimits } from '../rate-limit-fields.ts';
import type { KeyLimitsBody } from './schema.ts';

type KeyLimits = Pick<KeyRecord, 'limitNanoUsd' | 'limitReset' | 'includeByokInLimit' | 'rateLimits'>;

/** Returns the limits of a key after a checked body: a field that is absent keeps its value. */
export const readKeySettings = (body: KeyLimitsBody, before: KeyLimits = defaultKeySettings): KeyLimits => ({
  limitNanoUsd: body.limit == null ? (body.limit === null ? null : before.limitNanoUsd) : nanoUsdOf(body.limit),
  limitReset: body.limit_reset === undefined ? before.limitReset : body.limit_reset,
  includeByokInLimit: body.include_byok_in_limit ?? before.includeByokInLimit,
  rateLimits: readRateLimits(body, before.rateLimits),
});
