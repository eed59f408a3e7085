import type { MemberRecord } from '../../platform/storage/ports/members.ts';
import { writeRateLimits } from '../rate-limit-fields.ts';
import { writeTime } from '../write-time.ts';

/** A member as the management API and the command line show it. */
export const writeMember = ({ id, createdAtMs, rateLimits }: MemberRecord): Record<string, unknown> => ({
  id,
  ...writeRateLimits(rateLimits),
  created_at: writeTime(createdAtMs),
});
