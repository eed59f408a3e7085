import type { MemberRecord } from '../../platform/storage/storage.ts';
import { writeRateLimits } from '../management/rate-limit-fields.ts';
import { writeTime } from '../management/route-handler.ts';

/** A member as the management API and the command line show it. */
export const writeMember = ({ id, createdAtMs, rateLimits }: MemberRecord): Record<string, unknown> => ({
  id,
  ...writeRateLimits(rateLimits),
  created_at: writeTime(createdAtMs),
});
