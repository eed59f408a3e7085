import type { FastifyRequest } from 'fastify';
import { invalidRequest } from '../../domain/errors.ts';
import {
  type BudgetInterval,
  type BudgetRecord,
  budgetIntervals,
  type WorkspaceDetails,
} from '../../platform/storage/storage.ts';
import { askStore, type Handler, type ManagementParts, makeChange, param } from '../management/store.ts';
import { deleteBudget, getBudget, putBudget } from './change-budget.ts';
import { getWorkspace } from './find-workspace.ts';
import { checkPutBudget } from './schema.ts';
import { writeBudget } from './write-workspace.ts';

/** Budgets of workspaces: at most one for each interval. @see platform.md section 7, "Workspaces" */
export function createBudgetHandlers(
  parts: ManagementParts,
): Record<'listBudgets' | 'findBudget' | 'putBudget' | 'deleteBudget', Handler> {
  const { management } = parts;
  return {
    listBudgets: (request) =>
      askStore(async () => {
        const { id, settings } = await getWorkspace(management, param(request, 'id'));
        const budgets = await management.listBudgets(id);
        return { data: budgets.map(writeBudget), include_byok_in_budgets: settings.includeByokInBudgets };
      }),

    findBudget: (request) =>
      askStore(async () => {
        const interval = readInterval(request);
        const workspace = await getWorkspace(management, param(request, 'id'));
        return write(await getBudget(management, workspace, interval), workspace);
      }),

    async putBudget(request) {
      const interval = readInterval(request);
      const body = checkPutBudget(request.body);
      return makeChange(parts, request, async (transaction, nowMs) => {
        const workspace = await getWorkspace(transaction, param(request, 'id'));
        const { budget, settled } = await putBudget(transaction, workspace, { interval, ...body }, nowMs);
        return write(budget, settled);
      });
    },

    async deleteBudget(request) {
      const interval = readInterval(request);
      await makeChange(parts, request, async (transaction) =>
        deleteBudget(transaction, await getWorkspace(transaction, param(request, 'id')), interval),
      );
      return { deleted: true };
    },
  };
}

const write = (budget: BudgetRecord, { settings }: WorkspaceDetails) => ({
  data: writeBudget(budget),
  include_byok_in_budgets: settings.includeByokInBudgets,
});

function readInterval(request: FastifyRequest): BudgetInterval {
  const wanted = param(request, 'interval');
  const interval = budgetIntervals.find((known) => known === wanted);
  if (interval !== undefined) return interval;
  const message = `"${wanted.slice(0, 100)}" is not one of ${budgetIntervals.toReversed().join(', ')}.`;
  throw invalidRequest([{ path: 'interval', message }]);
}
