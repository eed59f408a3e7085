import { deriveUuid } from '../../domain/ids.ts';
import type { MemberRecord, WorkspaceMemberRecord } from '../../platform/storage/ports/members.ts';
import { writeRateLimits } from '../rate-limit-fields.ts';
import { writeTime } from '../write-time.ts';

/** A member as the management API and the command line show it. */
export const writeMember = ({ id, createdAtMs, rateLimits }: MemberRecord) => ({
  id,
  ...writeRateLimits(rateLimits),
  created_at: writeTime(createdAtMs),
});

/** `WorkspaceMember` of the interface. */
export const writeWorkspaceMember = ({ workspaceId, memberId, role, createdAtMs }: WorkspaceMemberRecord) => ({
  id: deriveUuid('membership', workspaceId, memberId),
  workspace_id: workspaceId,
  user_id: memberId,
  role,
  created_at: writeTime(createdAtMs),
});
