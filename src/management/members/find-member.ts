import { GatewayError } from '../../domain/errors.ts';
import type { MemberRecord, WorkspaceMemberRecord } from '../../platform/storage/ports/members.ts';
import type { Listed, Page } from '../../platform/storage/ports/page.ts';
import type { ManagementParts } from '../parts.ts';
import { getWorkspace } from '../workspaces/find-workspace.ts';

/** @throws {GatewayError} `not_found` */
export async function getMember(
  from: { findMember(id: string): Promise<MemberRecord | undefined> },
  id: string,
): Promise<MemberRecord> {
  const member = await from.findMember(id);
  if (!member) throw new GatewayError('not_found', `There is no member with the id ${id.slice(0, 100)}.`);
  return member;
}

/**
 * Returns the members of a workspace, the oldest membership first.
 *
 * @param idOrSlug of the workspace
 * @throws {GatewayError} `not_found`
 */
export async function listMembersOfWorkspace(
  { management }: ManagementParts,
  idOrSlug: string,
  page: Page,
): Promise<Listed<WorkspaceMemberRecord>> {
  const { id } = await getWorkspace(management, idOrSlug);
  return management.listWorkspaceMembers(id, page);
}
