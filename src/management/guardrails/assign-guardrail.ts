import { DEFAULT_WORKSPACE } from '../../access/bootstrap.ts';
import { type Issue, invalidRequest } from '../../domain/errors.ts';
import { defaultGuardrailId } from '../../domain/guardrail.ts';
import type { FieldChange } from '../../platform/storage/ports/audit.ts';
import type { GuardrailAssignee, GuardrailRecord } from '../../platform/storage/ports/guardrails.ts';
import type { ManagementTransaction } from '../../platform/storage/ports/management.ts';
import { applyChange } from '../apply-change.ts';
import type { Actor, Edit, ManagementParts } from '../parts.ts';
import { getGuardrail } from './find-guardrail.ts';

/** Keys or members. */
export interface Assignees {
  kind: GuardrailAssignee['kind'];
  /** The name of their list, for messages. */
  field: string;
  ids: readonly string[];
}

/**
 * Assigns a guardrail to keys and members. It replaces the guardrail that they have.
 *
 * @returns the number of keys and members that did not have it before
 * @throws {GatewayError} `not_found`; `invalid_request` if one of them must not have it; no assignment then changes
 */
export const assignGuardrail = (
  parts: ManagementParts,
  actor: Actor,
  id: string,
  groups: readonly Assignees[],
): Promise<number> =>
  applyChange(parts, actor, async (edit) => {
    const guardrail = await getGuardrail(edit.transaction, id);
    let count = 0;
    for (const group of groups) count += await assignToGroup(edit, guardrail, group);
    return count;
  });

async function assignToGroup(edit: Edit, guardrail: GuardrailRecord, { kind, field, ids }: Assignees): Promise<number> {
  if (guardrail.id === defaultGuardrailId(guardrail.workspaceId)) {
    const message = 'The default guardrail of a workspace holds for all its keys; it cannot be assigned.';
    throw invalidRequest([{ path: '', message }]);
  }
  const issues: Issue[] = [];
  for (const [index, id] of ids.entries()) {
    const problem = await (kind === 'key' ? checkKey : checkMember)(edit.transaction, guardrail, id);
    if (problem !== undefined) {
      issues.push({ path: `${field}[${index}]`, message: `${JSON.stringify(id)} ${problem}.` });
    }
  }
  if (issues.length > 0) throw invalidRequest(issues);
  let count = 0;
  for (const holder of new Set(ids)) {
    if (await assignGuardrailTo(edit, { kind, holder }, guardrail)) count++;
  }
  return count;
}

async function checkKey(
  transaction: ManagementTransaction,
  { workspaceId }: GuardrailRecord,
  hash: string,
): Promise<string | undefined> {
  const key = await transaction.findKey(hash);
  if (!key || key.kind === 'management') return 'is not the hash of an inference key';
  return key.workspaceId === workspaceId ? undefined : 'is a key of another workspace than the guardrail';
}

/** Every member is in the default workspace. @see docs/reference/management.md#members */
async function checkMember(
  transaction: ManagementTransaction,
  { workspaceId }: GuardrailRecord,
  id: string,
): Promise<string | undefined> {
  if (!(await transaction.findMember(id))) return 'is not a member';
  if ((await transaction.findDefaultWorkspace(DEFAULT_WORKSPACE))?.id === workspaceId) return undefined;
  const found = await transaction.findWorkspaceMembers(workspaceId, [id]);
  return found.length > 0 ? undefined : 'is not a member of the workspace of the guardrail';
}

/** Assigns a guardrail to one key or member. @returns whether it had another one, or none, before */
export async function assignGuardrailTo(
  { transaction, nowMs }: Edit,
  holder: GuardrailAssignee,
  { id, workspaceId }: Pick<GuardrailRecord, 'id' | 'workspaceId'>,
): Promise<boolean> {
  const before = (await transaction.findAssigned(holder)) ?? null;
  if (before === id) return false;
  await transaction.assign({ ...holder, guardrailId: id, createdAtMs: nowMs });
  await transaction.record(describeAssignment('guardrail.assign', holder, workspaceId, { before, after: id }));
  return true;
}

/**
 * Unassigns a guardrail from keys and members.
 *
 * @returns the number of keys and members that had it
 * @throws {GatewayError} `not_found`
 */
export const unassignGuardrail = (
  parts: ManagementParts,
  actor: Actor,
  id: string,
  groups: readonly Pick<Assignees, 'kind' | 'ids'>[],
): Promise<number> =>
  applyChange(parts, actor, async (edit) => {
    const { workspaceId } = await getGuardrail(edit.transaction, id);
    let count = 0;
    for (const { kind, ids } of groups) {
      for (const holder of new Set(ids)) {
        if (await unassignGuardrailFrom(edit, { kind, holder }, { id, workspaceId })) count++;
      }
    }
    return count;
  });

/** Unassigns a guardrail from one key or member. @returns whether it had it */
export async function unassignGuardrailFrom(
  { transaction }: Edit,
  holder: GuardrailAssignee,
  { id, workspaceId }: Pick<GuardrailRecord, 'id' | 'workspaceId'>,
): Promise<boolean> {
  if ((await transaction.findAssigned(holder)) !== id) return false;
  await transaction.unassign(holder);
  const change = { before: id, after: null };
  await transaction.record(describeAssignment('guardrail.unassign', holder, workspaceId, change));
  return true;
}

const describeAssignment = (
  action: string,
  { kind, holder }: GuardrailAssignee,
  workspaceId: string,
  change: FieldChange,
) => ({
  action,
  objectKind: kind,
  objectId: holder,
  workspaceId,
  changes: { guardrail_id: change },
});
