import type { RateLimits } from '../../../domain/rate-limits.ts';
import type { AccessGuardrails } from './guardrails.ts';
import type { AccessKeys } from './keys.ts';
import type { AccessMembers } from './members.ts';
import type { AccessPresets } from './presets.ts';
import type { AccessWorkspaces } from './workspaces.ts';

/**
 * The data for every decision about a caller. The gateway keeps it in memory and reloads it if the revision changes.
 */
export interface AccessStore extends AccessKeys, AccessWorkspaces, AccessMembers, AccessGuardrails, AccessPresets {
  /** Reads a number that grows with every change of keys, workspaces, members, guardrails and presets by any process. */
  readRevision(): Promise<number>;
  /** Replaces the given limits of a workspace or a member; the others stay. Unknown ids change nothing. */
  setRateLimits(holder: RateLimitHolder, limits: Partial<RateLimits>): Promise<void>;
}

/** A holder of rate limits. The limits of keys are in `KeyRecord`. */
export interface RateLimitHolder {
  kind: 'workspace' | 'member';
  id: string;
}
