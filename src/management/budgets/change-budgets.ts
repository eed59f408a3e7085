import { randomUUID } from 'node:crypto';
import { type Issue, invalidRequest } from '../../domain/errors.ts';
import { nanoUsdOf, usdOf } from '../../metering/cost.ts';
import type { FieldChange } from '../../platform/storage/ports/audit.ts';
import { type BudgetInterval, type BudgetRecord, budgetIntervals } from '../../platform/storage/ports/budgets.ts';
import type { WorkspaceDetails } from '../../platform/storage/ports/workspaces.ts';
import { applyChange } from '../apply-change.ts';
import { listChanges } from '../list-changes.ts';
import type { Actor, Edit, ManagementParts } from '../parts.ts';
import { describeWorkspaceEvent, getWorkspace } from '../workspaces/find-workspace.ts';
import { writeWorkspaceSettings } from '../workspaces/write-workspace.ts';
import { getBudget } from './find-budget.ts';
import type { PutBudgetBody } from './schema.ts';

/** Changes to the budgets of one workspace that apply together or not at all. */
export interface BudgetChanges {
  remove?: readonly BudgetInterval[];
  /** At most one for each interval. */
  put?: readonly WantedBudget[];
  /** Whether BYOK spending counts. The API sends it with a budget; it is a setting of the workspace. */
  includeByok?: boolean | undefined;
}

export interface WantedBudget {
  interval: BudgetInterval;
  /** From `checkPutBudget`. */
  limitUsd: PutBudgetBody['limit_usd'];
}

/**
 * Removes budgets, then sets the others. A new budget must fit the budgets that remain, not those that it replaces.
 *
 * @param idOrSlug of the workspace
 * @returns the workspace after the change, and the budgets that were set, in their order
 * @throws {GatewayError} `not_found` for an unknown workspace, or a budget to remove that does not exist;
 * `invalid_request` if budgets would not decrease with their intervals
 */
export const changeBudgets = (
  parts: ManagementParts,
  actor: Actor,
  idOrSlug: string,
  { remove = [], put = [], includeByok }: BudgetChanges,
): Promise<{ workspace: WorkspaceDetails; budgets: BudgetRecord[] }> =>
  applyChange(parts, actor, async (edit) => {
    const before = await getWorkspace(edit.transaction, idOrSlug);
    const workspace = await setByokIncluded(edit, before, includeByok);
    for (const interval of remove) await deleteBudget(edit, workspace, interval);
    return { workspace, budgets: await putBudgets(edit, workspace, put) };
  });

async function putBudgets(
  { transaction, nowMs }: Edit,
  { id: workspaceId }: WorkspaceDetails,
  put: readonly WantedBudget[],
): Promise<BudgetRecord[]> {
  const earlier = new Map((await transaction.listBudgets(workspaceId)).map((budget) => [budget.interval, budget]));
  const wanted = put.map(({ interval, limitUsd }) => ({ interval, limitNanoUsd: nanoUsdOf(limitUsd) }));
  rejectDisorder(earlier, wanted);
  const stored: BudgetRecord[] = [];
  for (const { interval, limitNanoUsd } of wanted) {
    const before = earlier.get(interval);
    if (before?.limitNanoUsd === limitNanoUsd) {
      stored.push(before);
      continue;
    }
    const base = before ?? { id: randomUUID(), workspaceId, interval, createdAtMs: nowMs };
    const after: BudgetRecord = { ...base, limitNanoUsd, updatedAtMs: nowMs };
    await transaction.putBudget(after);
    const changes = listChanges(before && auditFields(before), auditFields(after));
    await transaction.record(describeBudgetEvent(before ? 'budget.update' : 'budget.create', after, changes));
    stored.push(after);
  }
  return stored;
}

async function deleteBudget(
  { transaction }: Edit,
  workspace: WorkspaceDetails,
  interval: BudgetInterval,
): Promise<void> {
  const budget = await getBudget(transaction, workspace, interval);
  await transaction.deleteBudget(budget.workspaceId, interval);
  await transaction.record(describeBudgetEvent('budget.delete', budget, listChanges(auditFields(budget), undefined)));
}

const auditFields = ({ interval, limitNanoUsd }: BudgetRecord) => ({ interval, limit_usd: usdOf(limitNanoUsd) });

const describeBudgetEvent = (
  action: string,
  { id, workspaceId }: BudgetRecord,
  changes: Record<string, FieldChange>,
) => ({
  action,
  objectKind: 'budget',
  objectId: id,
  workspaceId,
  changes,
});

type Budget = Pick<BudgetRecord, 'interval' | 'limitNanoUsd'>;

/** A budget of a longer interval must be larger, or the one of the shorter interval would never be reached. */
function rejectDisorder(earlier: ReadonlyMap<BudgetInterval, Budget>, wanted: readonly Budget[]): void {
  const isWanted = new Set(wanted.map(({ interval }) => interval));
  const others = [...earlier.values()].filter(({ interval }) => !isWanted.has(interval));
  // If two of the wanted budgets conflict, the issue names the later one.
  const issues = wanted.flatMap((budget, at) =>
    [...others, ...wanted.slice(0, at)].flatMap((other) => compare(budget, other)),
  );
  if (issues.length > 0) throw invalidRequest(issues);
}

/** Returns the issue of a budget that conflicts with another one. */
function compare({ interval, limitNanoUsd }: Budget, other: Budget): Issue[] {
  const isNarrower = budgetIntervals.indexOf(interval) > budgetIntervals.indexOf(other.interval);
  if (isNarrower ? limitNanoUsd < other.limitNanoUsd : limitNanoUsd > other.limitNanoUsd) return [];
  const rule = `must be ${isNarrower ? 'less' : 'more'} than the ${other.interval} budget of ${usdOf(other.limitNanoUsd)} USD`;
  return [{ path: 'limit_usd', message: `\`limit_usd\` ${rule}, got ${usdOf(limitNanoUsd)}.` }];
}

async function setByokIncluded(
  { transaction, nowMs }: Edit,
  before: WorkspaceDetails,
  includeByokInBudgets = before.settings.includeByokInBudgets,
): Promise<WorkspaceDetails> {
  if (before.settings.includeByokInBudgets === includeByokInBudgets) return before;
  const after = { ...before, updatedAtMs: nowMs, settings: { ...before.settings, includeByokInBudgets } };
  await transaction.saveWorkspace(after);
  const changes = listChanges(writeWorkspaceSettings(before), writeWorkspaceSettings(after));
  await transaction.record(describeWorkspaceEvent('workspace.update', after, changes));
  return after;
}
