import type { FastifyRequest } from 'fastify';
import { invalidRequest } from '../../domain/errors.ts';
import { changeBudgets } from '../../management/budgets/change-budgets.ts';
import { findBudget, listBudgets, type WorkspaceBudgets, withUsage } from '../../management/budgets/find-budget.ts';
import { checkPutBudget } from '../../management/budgets/schema.ts';
import { writeBudget } from '../../management/budgets/write-budget.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import { type BudgetInterval, budgetIntervals } from '../../platform/storage/ports/budgets.ts';
import { actorOf, type ManagementApiParts, type ManagementHandler, pathParam } from '../management/route-handler.ts';

/** Budgets of workspaces: at most one for each interval. @see docs/reference/management.md#workspaces */
export function createBudgetHandlers(
  parts: ManagementApiParts,
): Record<'listBudgets' | 'findBudget' | 'putBudget' | 'deleteBudget', ManagementHandler> {
  return {
    async listBudgets(request) {
      return writeBudgets(await callStore(() => listBudgets(parts, pathParam(request, 'id'))));
    },

    async findBudget(request) {
      const interval = readInterval(request);
      return writeOne(await callStore(() => findBudget(parts, pathParam(request, 'id'), interval)));
    },

    async putBudget(request) {
      const interval = readInterval(request);
      const { limit_usd: limitUsd, include_byok_in_budgets: includeByok } = checkPutBudget(request.body);
      const changes = { put: [{ interval, limitUsd }], includeByok };
      return callStore(async () => {
        const { workspace, budgets } = await changeBudgets(parts, actorOf(request), pathParam(request, 'id'), changes);
        return writeOne({ workspace, budgets: await withUsage(parts, budgets, workspace) });
      });
    },

    async deleteBudget(request) {
      const changes = { remove: [readInterval(request)] };
      await callStore(() => changeBudgets(parts, actorOf(request), pathParam(request, 'id'), changes));
      return { deleted: true };
    },
  };
}

const writeBudgets = ({ workspace, budgets }: WorkspaceBudgets) => ({
  data: budgets.map(writeBudget),
  include_byok_in_budgets: workspace.settings.includeByokInBudgets,
});

function writeOne(found: WorkspaceBudgets) {
  const { data, ...rest } = writeBudgets(found);
  return { data: data[0], ...rest };
}

function readInterval(request: FastifyRequest): BudgetInterval {
  const wanted = pathParam(request, 'interval');
  const interval = budgetIntervals.find((known) => known === wanted);
  if (interval !== undefined) return interval;
  const message = `"${wanted.slice(0, 100)}" is not one of ${budgetIntervals.toReversed().join(', ')}.`;
  throw invalidRequest([{ path: 'interval', message }]);
}
