import type { RateLimits } from '../../../domain/rate-limits.ts';
import type { Listed, Page } from './page.ts';

export interface MemberRecord {
  id: string;
  createdAtMs: number;
  /** For all keys of the member together, in all workspaces. */
  rateLimits: RateLimits;
}

export interface WorkspaceMemberRecord {
  workspaceId: string;
  memberId: string;
  role: 'admin' | 'member';
  createdAtMs: number;
}

/** Members as the gateway and the bootstrap configuration use them. */
export interface AccessMembers {
  listMembers(): Promise<MemberRecord[]>;
  /** Creates a member without limits if the id does not exist. */
  putMember(member: Pick<MemberRecord, 'id' | 'createdAtMs'>): Promise<void>;
  /** Makes the member belong to exactly these workspaces. */
  setMemberships(memberId: string, workspaceIds: readonly string[]): Promise<void>;
  listMemberships(): Promise<{ memberId: string; workspaceId: string }[]>;
}

export interface MemberReader {
  findMember(id: string): Promise<MemberRecord | undefined>;
  /** Lists the oldest first. */
  listMembers(page: Page): Promise<Listed<MemberRecord>>;
  /** Lists the oldest first. */
  listWorkspaceMembers(workspaceId: string, page: Page): Promise<Listed<WorkspaceMemberRecord>>;
}

export interface MemberWriter extends Pick<MemberReader, 'findMember'> {
  /** Creates or replaces, by id. */
  saveMember(member: MemberRecord): Promise<void>;
  findWorkspaceMembers(workspaceId: string, memberIds: readonly string[]): Promise<WorkspaceMemberRecord[]>;
  joinWorkspace(membership: WorkspaceMemberRecord): Promise<void>;
  leaveWorkspace(workspaceId: string, memberId: string): Promise<void>;
}
