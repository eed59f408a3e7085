import { randomUUID } from 'node:crypto';
import { GatewayError, type Issue, invalidRequest } from '../../domain/errors.ts';
import { nanoUsdOf, usdOf } from '../../metering/cost.ts';
import type { FieldChange } from '../../platform/storage/ports/audit.ts';
import { type BudgetInterval, type BudgetRecord, budgetIntervals } from '../../platform/storage/ports/budgets.ts';
import type { ManagementTransaction } from '../../platform/storage/ports/management.ts';
import type { WorkspaceDetails } from '../../platform/storage/ports/workspaces.ts';
import { listChanges } from '../list-changes.ts';
import { describeWorkspaceEvent } from '../workspaces/find-workspace.ts';
import type { PutBudgetBody } from '../workspaces/schema.ts';
import { writeWorkspaceSettings } from '../workspaces/write-workspace.ts';

// What the management API and the command line do to budgets, each with its line in the audit log.

/**
 * Sets the budget of an interval. The same one again changes nothing.
 *
 * @returns `settled`: the workspace as it is now, since the flag that stands beside a budget on the wire belongs to it
 * @throws {GatewayError} `invalid_request` when budgets do not decrease with their intervals
 */
export async function putBudget(
  transaction: ManagementTransaction,
  workspace: WorkspaceDetails,
  body: PutBudgetBody & { interval: BudgetInterval },
  nowMs: number,
): Promise<{ budget: BudgetRecord; settled: WorkspaceDetails }> {
  const includes = body.include_byok_in_budgets ?? workspace.settings.includeByokInBudgets;
  const settled = await setByokIncluded(transaction, workspace, includes, nowMs);
  const [budget] = await putBudgets(transaction, settled, [body], nowMs);
  return { budget: budget!, settled };
}

/**
 * Sets budgets that belong together: each must fit those that will be beside it, not those whose place these take.
 *
 * @param wanted at most one of each interval
 * @returns them, in their order
 * @throws {GatewayError} `invalid_request` when budgets would not decrease with their intervals
 */
export async function putBudgets(
  transaction: ManagementTransaction,
  { id: workspaceId }: WorkspaceDetails,
  wanted: readonly { interval: BudgetInterval; limit_usd: number }[],
  nowMs: number,
): Promise<BudgetRecord[]> {
  const earlier = new Map((await transaction.listBudgets(workspaceId)).map((budget) => [budget.interval, budget]));
  const asked = wanted.map((one) => ({ interval: one.interval, limitNanoUsd: nanoUsdOf(one.limit_usd) }));
  refuseDisorder(earlier, asked);
  const settled: BudgetRecord[] = [];
  for (const { interval, limitNanoUsd } of asked) {
    const before = earlier.get(interval);
    if (before?.limitNanoUsd === limitNanoUsd) {
      settled.push(before);
      continue;
    }
    const base = before ?? { id: randomUUID(), workspaceId, interval, createdAtMs: nowMs };
    const after: BudgetRecord = { ...base, limitNanoUsd, updatedAtMs: nowMs };
    await transaction.putBudget(after);
    const changes = listChanges(before && auditFields(before), auditFields(after));
    await transaction.record(budgetHappening(before ? 'budget.update' : 'budget.create', after, changes));
    settled.push(after);
  }
  return settled;
}

/** @throws {GatewayError} `not_found` when there is none */
export async function deleteBudget(
  transaction: ManagementTransaction,
  workspace: WorkspaceDetails,
  interval: BudgetInterval,
): Promise<void> {
  const budget = await getBudget(transaction, workspace, interval);
  await transaction.deleteBudget(budget.workspaceId, interval);
  await transaction.record(budgetHappening('budget.delete', budget, listChanges(auditFields(budget), undefined)));
}

/** @throws {GatewayError} `not_found` */
export async function getBudget(
  from: { listBudgets(workspaceId: string): Promise<BudgetRecord[]> },
  { id, slug }: WorkspaceDetails,
  interval: BudgetInterval,
): Promise<BudgetRecord> {
  const budget = (await from.listBudgets(id)).find((one) => one.interval === interval);
  if (!budget) throw new GatewayError('not_found', `The workspace ${slug} has no ${interval} budget.`);
  return budget;
}

const auditFields = ({ interval, limitNanoUsd }: BudgetRecord) => ({ interval, limit_usd: usdOf(limitNanoUsd) });

const budgetHappening = (action: string, { id, workspaceId }: BudgetRecord, changes: Record<string, FieldChange>) => ({
  ...{ action, objectKind: 'budget', objectId: id, workspaceId, changes },
});

type Budget = Pick<BudgetRecord, 'interval' | 'limitNanoUsd'>;

/** A broader budget must be larger than a narrower one, or the narrower one would never be reached. */
function refuseDisorder(earlier: ReadonlyMap<BudgetInterval, Budget>, asked: readonly Budget[]): void {
  const isAsked = new Set(asked.map(({ interval }) => interval));
  const others = [...earlier.values()].filter(({ interval }) => !isAsked.has(interval));
  // Of two that are asked for, the one that comes later is told.
  const issues = asked.flatMap((budget, at) =>
    [...others, ...asked.slice(0, at)].flatMap((other) => compare(budget, other)),
  );
  if (issues.length > 0) throw invalidRequest(issues);
}

/** What is wrong with a budget beside another one. */
function compare({ interval, limitNanoUsd }: Budget, other: Budget): Issue[] {
  const isNarrower = budgetIntervals.indexOf(interval) > budgetIntervals.indexOf(other.interval);
  if (isNarrower ? limitNanoUsd < other.limitNanoUsd : limitNanoUsd > other.limitNanoUsd) return [];
  const rule = `must be ${isNarrower ? 'less' : 'more'} than the ${other.interval} budget of ${usdOf(other.limitNanoUsd)} USD`;
  return [{ path: 'limit_usd', message: `\`limit_usd\` ${rule}, got ${usdOf(limitNanoUsd)}.` }];
}

/** The flag stands beside a budget on the wire and belongs to the workspace. */
export async function setByokIncluded(
  transaction: ManagementTransaction,
  before: WorkspaceDetails,
  includeByokInBudgets: boolean,
  nowMs: number,
): Promise<WorkspaceDetails> {
  if (before.settings.includeByokInBudgets === includeByokInBudgets) return before;
  const after = { ...before, updatedAtMs: nowMs, settings: { ...before.settings, includeByokInBudgets } };
  await transaction.saveWorkspace(after);
  const changes = listChanges(writeWorkspaceSettings(before), writeWorkspaceSettings(after));
  await transaction.record(describeWorkspaceEvent('workspace.update', after, changes));
  return after;
}
