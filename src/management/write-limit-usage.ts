import { usdOf } from '../metering/cost.ts';
import type { LimitUsage } from '../metering/read-limit-usage.ts';
import { writeNullableTime } from './write-time.ts';

/** The fields beside a `limit_usd`: those of a key, with the unit of the limit. choice 221 */
export const writeLimitUsage = ({ usageNanoUsd, remainingNanoUsd, resetsAtMs }: LimitUsage) => ({
  usage_usd: usdOf(usageNanoUsd),
  limit_remaining_usd: usdOf(remainingNanoUsd),
  resets_at: writeNullableTime(resetsAtMs),
});
