import { randomUUID } from 'node:crypto';
import { GatewayError, type Issue, invalidRequest } from '../../domain/errors.ts';
import { nanoUsdOf, usdOf } from '../../metering/cost.ts';
import {
  type BudgetInterval,
  type BudgetRecord,
  budgetIntervals,
  type FieldChange,
  type ManagementTransaction,
  type WorkspaceDetails,
} from '../../platform/storage/storage.ts';
import { listChanges } from '../management/store.ts';
import { happeningOf } from './find-workspace.ts';
import type { PutBudgetBody } from './schema.ts';
import { writeSettings } from './write-workspace.ts';

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
  const { interval } = body;
  const budgets = await transaction.listBudgets(workspace.id);
  const limitNanoUsd = nanoUsdOf(body.limit_usd);
  refuseDisorder(budgets, interval, limitNanoUsd);
  const includes = body.include_byok_in_budgets ?? workspace.settings.includeByokInBudgets;
  const settled = await setByok(transaction, workspace, includes, nowMs);
  const before = budgets.find((budget) => budget.interval === interval);
  if (before?.limitNanoUsd === limitNanoUsd) return { budget: before, settled };
  const base = before ?? { id: randomUUID(), workspaceId: workspace.id, interval, createdAtMs: nowMs };
  const after: BudgetRecord = { ...base, limitNanoUsd, updatedAtMs: nowMs };
  await transaction.putBudget(after);
  const changes = listChanges(before && auditFields(before), auditFields(after));
  await transaction.record(budgetHappening(before ? 'budget.update' : 'budget.create', after, changes));
  return { budget: after, settled };
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

/** A broader budget must be larger than a narrower one, or the narrower one would never be reached. */
function refuseDisorder(budgets: readonly BudgetRecord[], interval: BudgetInterval, limitNanoUsd: bigint): void {
  const breadth = (one: BudgetInterval) => budgetIntervals.indexOf(one);
  const issues = budgets.flatMap((other): Issue[] => {
    const isBroader = breadth(other.interval) < breadth(interval);
    const isNarrower = breadth(other.interval) > breadth(interval);
    const isFine = isBroader ? limitNanoUsd < other.limitNanoUsd : !isNarrower || limitNanoUsd > other.limitNanoUsd;
    if (isFine) return [];
    const rule = `must be ${isBroader ? 'less' : 'more'} than the ${other.interval} budget of ${usdOf(other.limitNanoUsd)} USD`;
    return [{ path: 'limit_usd', message: `\`limit_usd\` ${rule}, got ${usdOf(limitNanoUsd)}.` }];
  });
  if (issues.length > 0) throw invalidRequest(issues);
}

/** The flag stands beside a budget on the wire and belongs to the workspace. */
export async function setByok(
  transaction: ManagementTransaction,
  before: WorkspaceDetails,
  includeByokInBudgets: boolean,
  nowMs: number,
): Promise<WorkspaceDetails> {
  if (before.settings.includeByokInBudgets === includeByokInBudgets) return before;
  const after = { ...before, updatedAtMs: nowMs, settings: { ...before.settings, includeByokInBudgets } };
  await transaction.saveWorkspace(after);
  const changes = listChanges(writeSettings(before), writeSettings(after));
  await transaction.record(happeningOf('workspace.update', after, changes));
  return after;
}
