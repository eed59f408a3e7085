import type { RateLimits } from '../../../domain/rate-limits.ts';
import type { AccessGuardrails } from './guardrails.ts';
import type { AccessKeys } from './keys.ts';
import type { AccessMembers } from './members.ts';
import type { AccessWorkspaces } from './workspaces.ts';

/** Everything that decides about a caller. The gateway keeps it in memory and reads it again if the revision changes. */
export interface AccessStore extends AccessKeys, AccessWorkspaces, AccessMembers, AccessGuardrails {
  /** A number that grows with every change of keys, workspaces, members and guardrails by any process. */
  readRevision(): Promise<number>;
  /** Replaces the given limits of a workspace or a member; the others stay. Unknown ids change nothing. */
  setRateLimits(holder: RateLimitHolder, limits: Partial<RateLimits>): Promise<void>;
}

/** Keys have their limits in `KeyRecord`. */
export interface RateLimitHolder {
  kind: 'workspace' | 'member';
  id: string;
}
