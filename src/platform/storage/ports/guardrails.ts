import type { GuardrailRules } from '../../../domain/guardrail.ts';
import type { LimitReset } from './keys.ts';
import type { Listed, Page } from './page.ts';

/**
 * A guardrail. The id of a default guardrail is derived from that of its workspace. It applies to all keys of the
 * workspace.
 */
export interface GuardrailRecord {
  id: string;
  workspaceId: string;
  name: string;
  description: string | null;
  rules: GuardrailRules;
  /** Nano-dollars that each key and each member with this guardrail may spend in a window; both null: no limit. */
  limitNanoUsd: bigint | null;
  resetInterval: LimitReset | null;
  includeByokInBudgets: boolean;
  createdAtMs: number;
  updatedAtMs: number | null;
}

export interface GuardrailQuery extends Page {
  workspaceId?: string | undefined;
}

/** A key or a member that has an assigned guardrail. */
export interface GuardrailAssignee {
  kind: 'key' | 'member';
  /** The hash of the key, or the id of the member. */
  holder: string;
}

export interface AssignmentRecord extends GuardrailAssignee {
  guardrailId: string;
  createdAtMs: number;
}

export interface AssignmentQuery extends Page {
  kind: GuardrailAssignee['kind'];
  /** Absent: assignments of all guardrails. */
  guardrailId?: string | undefined;
}

export interface ListedAssignment extends AssignmentRecord {
  /** Null for a member. */
  keyName: string | null;
  keyLabel: string | null;
}

export interface AppliedGuardrails {
  guardrails: (GuardrailRecord & { workspaceName: string })[];
  assignments: AssignmentRecord[];
}

/** Guardrails as the gateway uses them. */
export interface AccessGuardrails {
  /** Lists all guardrails and all assignments, in any order. */
  listAppliedGuardrails(): Promise<AppliedGuardrails>;
}

export interface GuardrailReader {
  findGuardrail(id: string): Promise<GuardrailRecord | undefined>;
  /** Lists the oldest first. */
  listGuardrails(query: GuardrailQuery): Promise<Listed<GuardrailRecord>>;
  /** Lists the oldest first. */
  listAssignments(query: AssignmentQuery): Promise<Listed<ListedAssignment>>;
}

export interface GuardrailWriter extends Pick<GuardrailReader, 'findGuardrail'> {
  /** Creates or replaces, by id. Keeps the workspace of an existing row. */
  saveGuardrail(guardrail: GuardrailRecord): Promise<void>;
  /** Also deletes its assignments. */
  deleteGuardrail(id: string): Promise<void>;
  /** @returns the id of the guardrail of a key or a member */
  findAssigned(holder: GuardrailAssignee): Promise<string | undefined>;
  /** Replaces the assignment of the key or the member. */
  assign(assignment: AssignmentRecord): Promise<void>;
  unassign(holder: GuardrailAssignee): Promise<void>;
}
