import { randomUUID } from 'node:crypto';
import { DEFAULT_WORKSPACE } from '../../access/bootstrap.ts';
import { type Issue, invalidRequest } from '../../domain/errors.ts';
import { defaultGuardrailId, noRules } from '../../domain/guardrail.ts';
import type { FieldChange } from '../../platform/storage/ports/audit.ts';
import type { GuardrailAssignee, GuardrailRecord } from '../../platform/storage/ports/guardrails.ts';
import type { ManagementTransaction } from '../../platform/storage/ports/management.ts';
import { listChanges } from '../list-changes.ts';
import { explainUnknownWorkspace } from '../workspaces/find-workspace.ts';
import type { CreateGuardrailBody, UpdateGuardrailBody } from './schema.ts';
import { readGuardrailSettings, writeGuardrailSettings } from './write-guardrail.ts';

// What the management API and the command line do to guardrails, each with its line in the audit log.

/** A guardrail that says nothing yet. */
export const createEmptyGuardrail = (parts: { id: string; workspaceId: string; name: string; createdAtMs: number }) =>
  ({
    ...parts,
    description: null,
    rules: noRules,
    limitNanoUsd: null,
    resetInterval: null,
    includeByokInBudgets: false,
    updatedAtMs: null,
  }) satisfies GuardrailRecord;

/** @throws {GatewayError} `invalid_request` when the workspace is not there, or half a limit is given */
export async function createGuardrail(
  transaction: ManagementTransaction,
  body: CreateGuardrailBody,
  nowMs: number,
): Promise<GuardrailRecord> {
  const workspaceId = await findWorkspaceId(transaction, body.workspace_id);
  const empty = createEmptyGuardrail({ id: randomUUID(), workspaceId, name: body.name, createdAtMs: nowMs });
  const created = readGuardrailSettings(body, empty);
  refuseHalfLimit(created);
  await transaction.saveGuardrail(created);
  await transaction.record(
    happeningOf('guardrail.create', created, listChanges(undefined, writeGuardrailSettings(created))),
  );
  return created;
}

async function findWorkspaceId(transaction: ManagementTransaction, id: string | undefined): Promise<string> {
  const found = await (id === undefined
    ? transaction.findDefaultWorkspace(DEFAULT_WORKSPACE)
    : transaction.findWorkspace(id));
  if (found && (id === undefined || found.id === id)) return found.id; // a slug is no id
  const message = id === undefined ? 'There is no workspace yet; make one first.' : explainUnknownWorkspace(id, found);
  throw invalidRequest([{ path: 'workspace_id', message }]);
}

/** Saves what differs; when nothing does, the guardrail stays as it is. A default one is made by its first change. */
export async function updateGuardrail(
  transaction: ManagementTransaction,
  before: GuardrailRecord,
  body: UpdateGuardrailBody,
  nowMs: number,
): Promise<GuardrailRecord> {
  const after = readGuardrailSettings(body, before);
  refuseHalfLimit(after);
  const changes = listChanges(writeGuardrailSettings(before), writeGuardrailSettings(after));
  if (Object.keys(changes).length === 0) return before;
  const saved = { ...after, updatedAtMs: nowMs };
  await transaction.saveGuardrail(saved);
  await transaction.record(happeningOf('guardrail.update', saved, changes));
  return saved;
}

/** What may be spent says nothing without the time in which it may. @see docs/guides/guardrails.md#rules */
function refuseHalfLimit({ limitNanoUsd, resetInterval }: GuardrailRecord): void {
  if ((limitNanoUsd === null) === (resetInterval === null)) return;
  const [given, missing] = limitNanoUsd === null ? ['reset_interval', 'limit_usd'] : ['limit_usd', 'reset_interval'];
  throw invalidRequest([
    { path: missing!, message: `\`${missing}\` is missing beside \`${given}\`: send both, or null for both.` },
  ]);
}

/** A default one is empty again. */
export async function deleteGuardrail(transaction: ManagementTransaction, guardrail: GuardrailRecord): Promise<void> {
  if (!(await transaction.findGuardrail(guardrail.id))) return; // a default one that nobody has written
  await transaction.deleteGuardrail(guardrail.id);
  const changes = listChanges(writeGuardrailSettings(guardrail), undefined);
  await transaction.record(happeningOf('guardrail.delete', guardrail, changes));
}

/**
 * Gives the guardrail to keys or members, in the place of the one that they have.
 *
 * @returns how many did not have it before
 * @throws {GatewayError} `invalid_request` when one may not have it; then nobody gets it
 */
export async function assignGuardrail(
  transaction: ManagementTransaction,
  guardrail: GuardrailRecord,
  { kind, field, ids }: { kind: GuardrailAssignee['kind']; field: string; ids: readonly string[] },
  nowMs: number,
): Promise<number> {
  if (guardrail.id === defaultGuardrailId(guardrail.workspaceId)) {
    const message = 'The default guardrail of a workspace holds for all its keys; it is given to none by itself.';
    throw invalidRequest([{ path: '', message }]);
  }
  const issues: Issue[] = [];
  for (const [index, id] of ids.entries()) {
    const problem = await (kind === 'key' ? checkKey : checkMember)(transaction, guardrail, id);
    if (problem !== undefined)
      issues.push({ path: `${field}[${index}]`, message: `${JSON.stringify(id)} ${problem}.` });
  }
  if (issues.length > 0) throw invalidRequest(issues);
  let count = 0;
  for (const holder of new Set(ids)) {
    if (await assignGuardrailTo(transaction, { kind, holder }, guardrail, nowMs)) count++;
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

/** @returns whether it had another one, or none, before */
export async function assignGuardrailTo(
  transaction: ManagementTransaction,
  holder: GuardrailAssignee,
  { id, workspaceId }: Pick<GuardrailRecord, 'id' | 'workspaceId'>,
  nowMs: number,
): Promise<boolean> {
  const before = (await transaction.findAssigned(holder)) ?? null;
  if (before === id) return false;
  await transaction.assign({ ...holder, guardrailId: id, createdAtMs: nowMs });
  await transaction.record(holderHappening('guardrail.assign', holder, workspaceId, { before, after: id }));
  return true;
}

/**
 * Takes the guardrail from those of the keys or members that have it.
 *
 * @returns how many had it
 */
export async function unassignGuardrail(
  transaction: ManagementTransaction,
  { id, workspaceId }: GuardrailRecord,
  kind: GuardrailAssignee['kind'],
  ids: readonly string[],
): Promise<number> {
  let count = 0;
  for (const holder of new Set(ids)) {
    if ((await transaction.findAssigned({ kind, holder })) !== id) continue;
    await transaction.unassign({ kind, holder });
    const change = { before: id, after: null };
    await transaction.record(holderHappening('guardrail.unassign', { kind, holder }, workspaceId, change));
    count++;
  }
  return count;
}

const happeningOf = (action: string, { id, workspaceId }: GuardrailRecord, changes: Record<string, FieldChange>) => ({
  ...{ action, objectKind: 'guardrail', objectId: id, workspaceId, changes },
});

const holderHappening = (
  action: string,
  { kind, holder }: GuardrailAssignee,
  workspaceId: string,
  change: FieldChange,
) => ({
  ...{ action, objectKind: kind, objectId: holder, workspaceId, changes: { guardrail_id: change } },
});
