import type { ManagementTransaction } from '../../platform/storage/ports/management.ts';
import type { MemberRecord } from '../../platform/storage/ports/members.ts';
import { listChanges } from '../list-changes.ts';
import { readRateLimits, writeRateLimits } from '../rate-limit-fields.ts';
import type { UpdateMemberBody } from './schema.ts';

/** Saves the limits that differ, with an audit entry. If none differs, the member stays as it is. */
export async function updateMember(
  transaction: ManagementTransaction,
  before: MemberRecord,
  body: UpdateMemberBody,
): Promise<MemberRecord> {
  const after = { ...before, rateLimits: readRateLimits(body, before.rateLimits) };
  const changes = listChanges(writeRateLimits(before.rateLimits), writeRateLimits(after.rateLimits));
  if (Object.keys(changes).length === 0) return before;
  await transaction.saveMember(after);
  await transaction.record({
    ...{ action: 'member.update', objectKind: 'member', objectId: before.id, workspaceId: null, changes },
  });
  return after;
}
