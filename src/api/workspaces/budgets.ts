import { oneOf } from '../../schema/shapes.ts';
import { invalidRequest } from '../../domain/errors.ts';
import { changeBudgets } from '../../management/budgets/change-budgets.ts';
import { findBudget, listBudgets, type WorkspaceBudgets, withUsage } from '../../management/budgets/find-budget.ts';
import { checkPutBudget } from '../../management/budgets/schema.ts';
import { writeBudget } from '../../management/budgets/write-budget.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import { type BudgetInterval, budgetIntervals } from '../../platform/storage/ports/budgets.ts';
import { actorOf, managementRoutes } from '../management/route.ts';
import { deleted } from '../../openapi/shapes.ts';
import { budgetList, oneBudget } from './shapes.ts';

const intervals = budgetIntervals.toReversed();
const intervalParam = { interval: oneOf(...intervals) };
const route = managementRoutes('Workspaces');

/** Budgets of workspaces: at most one for each interval. @see docs/reference/management.md#workspaces */
export const budgetRoutes = [
  route('GET', '/workspaces/:id/budgets', {
    id: 'listBudgets',
    summary: 'List the budgets of a workspace',
    response: { description: 'The budgets and their usage.', schema: budgetList },
    handle: async (parts, { params }) => {
      return writeBudgets(await callStore(() => listBudgets(parts, params.id)));
    },
  }),
  route('GET', '/workspaces/:id/budgets/:interval', {
    id: 'findBudget',
    summary: 'Find a budget',
    params: intervalParam,
    response: { description: 'The budget and its usage.', schema: oneBudget },
    handle: async (parts, { params }) => {
      const interval = readInterval(params.interval);
      return writeOne(await callStore(() => findBudget(parts, params.id, interval)));
    },
  }),
  route('PUT', '/workspaces/:id/budgets/:interval', {
    id: 'putBudget',
    summary: 'Set a budget',
    params: intervalParam,
    body: { schema: checkPutBudget.schema, example: { limit_usd: 100 } },
    response: { description: 'The budget and its usage.', schema: oneBudget },
    handle: async (parts, { request, params }) => {
      const interval = readInterval(params.interval);
      const { limit_usd: limitUsd, include_byok_in_budgets: includeByok } = checkPutBudget(request.body);
      const changes = { put: [{ interval, limitUsd }], includeByok };
      return callStore(async () => {
        const { workspace, budgets } = await changeBudgets(parts, actorOf(request), params.id, changes);
        return writeOne({ workspace, budgets: await withUsage(parts, budgets, workspace) });
      });
    },
  }),
  route('DELETE', '/workspaces/:id/budgets/:interval', {
    id: 'deleteBudget',
    summary: 'Delete a budget',
    params: intervalParam,
    response: deleted,
    handle: async (parts, { request, params }) => {
      const changes = { remove: [readInterval(params.interval)] };
      await callStore(() => changeBudgets(parts, actorOf(request), params.id, changes));
      return { deleted: true as const };
    },
  }),
];

const writeBudgets = ({ workspace, budgets }: WorkspaceBudgets) => ({
  data: budgets.map(writeBudget),
  include_byok_in_budgets: workspace.settings.includeByokInBudgets,
});

function writeOne(found: WorkspaceBudgets) {
  const { data, ...rest } = writeBudgets(found);
  return { data: data[0], ...rest };
}

function readInterval(wanted: string): BudgetInterval {
  const interval = budgetIntervals.find((known) => known === wanted);
  if (interval !== undefined) return interval;
  const message = `"${wanted.slice(0, 100)}" is not one of ${intervals.join(', ')}.`;
  throw invalidRequest([{ path: 'interval', message }]);
}
