import { GatewayError } from '../../domain/errors.ts';
import type { LimitUsage } from '../../metering/read-limit-usage.ts';
import type { BudgetInterval, BudgetRecord } from '../../platform/storage/ports/budgets.ts';
import type { WorkspaceDetails } from '../../platform/storage/ports/workspaces.ts';
import type { ManagementParts } from '../parts.ts';
import { getWorkspace } from '../workspaces/find-workspace.ts';
import { readBudgetUsage } from './read-budget-usage.ts';

export interface SpentBudget {
  budget: BudgetRecord;
  usage: LimitUsage;
}

export interface WorkspaceBudgets {
  workspace: WorkspaceDetails;
  budgets: SpentBudget[];
}

/**
 * Returns the budgets of a workspace with their usage, the longest interval first.
 *
 * @param idOrSlug of the workspace
 * @throws {GatewayError} `not_found`
 */
export async function listBudgets(parts: ManagementParts, idOrSlug: string): Promise<WorkspaceBudgets> {
  const workspace = await getWorkspace(parts.management, idOrSlug);
  const budgets = await parts.management.listBudgets(workspace.id);
  return { workspace, budgets: await withUsage(parts, budgets, workspace) };
}

/** The same with the budget of one interval. @throws {GatewayError} `not_found` */
export async function findBudget(
  parts: ManagementParts,
  idOrSlug: string,
  interval: BudgetInterval,
): Promise<WorkspaceBudgets> {
  const workspace = await getWorkspace(parts.management, idOrSlug);
  const budget = await getBudget(parts.management, workspace, interval);
  return { workspace, budgets: await withUsage(parts, [budget], workspace) };
}

export async function withUsage(
  { ledger, now }: ManagementParts,
  budgets: readonly BudgetRecord[],
  workspace: WorkspaceDetails,
): Promise<SpentBudget[]> {
  const usages = await readBudgetUsage(ledger, budgets, workspace, now());
  return budgets.map((budget, at) => ({ budget, usage: usages[at]! }));
}

/** @throws {GatewayError} `not_found` */
export async function getBudget(
  from: { listBudgets(workspaceId: string): Promise<BudgetRecord[]> },
  { id, slug }: WorkspaceDetails,
  interval: BudgetInterval,
): Promise<BudgetRecord> {
  const budget = (await from.listBudgets(id)).find((one) => one.interval === interval);
  if (!budget) throw new GatewayError('not_found', `The workspace "${slug}" has no ${interval} budget.`);
  return budget;
}
