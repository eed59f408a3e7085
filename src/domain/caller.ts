import type { Guardrail } from './guardrail.ts';
import type { CallerRateLimits } from './rate-limits.ts';
import type { RequestDefaults } from './request-defaults.ts';

/** Who asks, as `access/` made it out from the bearer key. Everything else is looked up by (workspace, id). */
export interface Caller {
  /** SHA-256 of the whole key, lower-case hex. Not a secret. */
  keyHash: string;
  keyName: string;
  kind: KeyKind;
  workspaceId: string;
  /** The member who owns the key; null for a key that acts as the organization. */
  memberId: string | null;
  /** The share of its sessions whose inputs and outputs its workspace wants kept; undefined: none. */
  contentSampling?: number | undefined;
  /** Those of its workspace, its member and itself that forbid anything; undefined: there is none. */
  guardrails?: readonly Guardrail[] | undefined;
  /** Set for its key, its member or its workspace; undefined: there is none. */
  rateLimits?: CallerRateLimits | undefined;
  /** Of its workspace; undefined: it has none. */
  defaults?: RequestDefaults | undefined;
}

/**
 * `member`: inference key of a member. `organization`: inference key that acts as the organization.
 * `management`: administration only.
 */
export type KeyKind = 'member' | 'organization' | 'management';
