import type { FastifyRequest } from 'fastify';
import { currentTimeMs } from '../../domain/clock.ts';
import { invalidRequest } from '../../domain/errors.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import { type BudgetInterval, type BudgetRecord, budgetIntervals } from '../../platform/storage/ports/budgets.ts';
import type { WorkspaceDetails } from '../../platform/storage/ports/workspaces.ts';
import { applyChange } from '../management/change.ts';
import { type ManagementHandler, type ManagementParts, pathParam } from '../management/route-handler.ts';
import { deleteBudget, getBudget, putBudget } from '../../management/budgets/change-budget.ts';
import { getWorkspace } from '../../management/workspaces/find-workspace.ts';
import { readBudgetUsage } from '../../management/budgets/read-budget-usage.ts';
import { checkPutBudget } from '../../management/workspaces/schema.ts';
import { writeBudget } from '../../management/workspaces/write-workspace.ts';

/** Budgets of workspaces: at most one for each interval. @see docs/reference/management.md#workspaces */
export function createBudgetHandlers(
  parts: ManagementParts,
): Record<'listBudgets' | 'findBudget' | 'putBudget' | 'deleteBudget', ManagementHandler> {
  const { management, ledger } = parts;
  const write = async (budget: BudgetRecord, workspace: WorkspaceDetails) => {
    const { data, ...beside } = await writeBudgets(ledger, [budget], workspace);
    return { data: data[0], ...beside };
  };
  return {
    listBudgets: (request) =>
      callStore(async () => {
        const workspace = await getWorkspace(management, pathParam(request, 'id'));
        return writeBudgets(ledger, await management.listBudgets(workspace.id), workspace);
      }),

    findBudget: (request) =>
      callStore(async () => {
        const interval = readInterval(request);
        const workspace = await getWorkspace(management, pathParam(request, 'id'));
        return write(await getBudget(management, workspace, interval), workspace);
      }),

    async putBudget(request) {
      const interval = readInterval(request);
      const body = checkPutBudget(request.body);
      const { budget, settled } = await applyChange(parts, request, async (transaction, nowMs) => {
        const workspace = await getWorkspace(transaction, pathParam(request, 'id'));
        return putBudget(transaction, workspace, { interval, ...body }, nowMs);
      });
      return callStore(() => write(budget, settled));
    },

    async deleteBudget(request) {
      const interval = readInterval(request);
      await applyChange(parts, request, async (transaction) =>
        deleteBudget(transaction, await getWorkspace(transaction, pathParam(request, 'id')), interval),
      );
      return { deleted: true };
    },
  };
}

async function writeBudgets(
  ledger: ManagementParts['ledger'],
  budgets: readonly BudgetRecord[],
  workspace: WorkspaceDetails,
) {
  const usages = await readBudgetUsage(ledger, budgets, workspace, currentTimeMs());
  return {
    data: budgets.map((budget, at) => writeBudget(budget, usages[at]!)),
    include_byok_in_budgets: workspace.settings.includeByokInBudgets,
  };
}

function readInterval(request: FastifyRequest): BudgetInterval {
  const wanted = pathParam(request, 'interval');
  const interval = budgetIntervals.find((known) => known === wanted);
  if (interval !== undefined) return interval;
  const message = `"${wanted.slice(0, 100)}" is not one of ${budgetIntervals.toReversed().join(', ')}.`;
  throw invalidRequest([{ path: 'interval', message }]);
}
