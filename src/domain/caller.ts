import type { FilterSource } from './content-filter.ts';
import type { Guardrail } from './guardrail.ts';
import type { PresetTable } from './preset.ts';
import type { CallerRateLimits } from './rate-limits.ts';
import type { Reach } from './reach.ts';
import type { RequestDefaults } from './request-defaults.ts';

/**
 * The owner of a request, as `access/` found it for the bearer key. Everything else is looked up by (workspace, id).
 */
export interface Caller {
  /** SHA-256 of the whole key, lower-case hex. Not a secret. */
  keyHash: string;
  keyName: string;
  kind: KeyKind;
  workspaceId: string;
  /** Undefined: unknown, or it has no workspace. */
  workspaceName?: string | undefined;
  /** The member that owns the key; null for a key that acts as the organization. */
  memberId: string | null;
  /** The intern that the key belongs to. Undefined: any client uses it. */
  internId?: string | undefined;
  /** What the gateway runs and opens for it. Set for interns. Undefined: it has no such limits. */
  reach?: Reach | undefined;
  /** The share of its sessions whose inputs and outputs the workspace keeps. Undefined: none. */
  contentSampling?: number | undefined;
  /** The guardrails of its workspace, its member and itself that forbid anything. Undefined: there are none. */
  guardrails?: readonly Guardrail[] | undefined;
  /**
   * The content filters of all guardrails of its workspace, its member and itself. One array for all callers with the same
   * guardrails. Undefined: there are none.
   */
  contentFilters?: readonly FilterSource[] | undefined;
  /** Set for its key, its member or its workspace. Undefined: there are none. */
  rateLimits?: CallerRateLimits | undefined;
  /** The defaults of its workspace. Undefined: there are none. */
  defaults?: RequestDefaults | undefined;
  /** The presets of its workspace. Undefined: there are none. */
  presets?: PresetTable | undefined;
}

/**
 * `member`: inference key of a member. `organization`: inference key that acts as the organization. `management`:
 * administration only.
 */
export type KeyKind = 'member' | 'organization' | 'management';
