import type { MemberRecord } from '../../platform/storage/ports/members.ts';
import { applyChange } from '../apply-change.ts';
import { listChanges } from '../list-changes.ts';
import type { Actor, ManagementParts } from '../parts.ts';
import { readRateLimits, writeRateLimits } from '../rate-limit-fields.ts';
import { getMember } from './find-member.ts';
import type { UpdateMemberBody } from './schema.ts';

/**
 * Changes the rate limits that the body names. If none differs, the member stays as it is.
 *
 * @throws {GatewayError} `not_found`
 */
export const updateMember = (
  parts: ManagementParts,
  actor: Actor,
  id: string,
  body: UpdateMemberBody,
): Promise<MemberRecord> =>
  applyChange(parts, actor, async ({ transaction }) => {
    const before = await getMember(transaction, id);
    const after = { ...before, rateLimits: readRateLimits(body, before.rateLimits) };
    const changes = listChanges(writeRateLimits(before.rateLimits), writeRateLimits(after.rateLimits));
    if (Object.keys(changes).length === 0) return before;
    await transaction.saveMember(after);
    await transaction.record({
      action: 'member.update',
      objectKind: 'member',
      objectId: before.id,
      workspaceId: null,
      changes,
    });
    return after;
  });
