import { randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { GatewayError, type Issue, invalidRequest } from '../../domain/errors.ts';
import { usdOf } from '../../metering/cost.ts';
import {
  type BudgetInterval,
  type BudgetRecord,
  budgetIntervals,
  type FieldChange,
  type ManagementTransaction,
  type WorkspaceDetails,
} from '../../platform/storage/storage.ts';
import { nanoUsdOf } from '../management/check-body.ts';
import { askStore, type Handler, listChanges, type ManagementParts, makeChange, param } from '../management/store.ts';
import { getWorkspace, happeningOf } from './find-workspace.ts';
import { checkPutBudget } from './schema.ts';
import { writeBudget, writeSettings } from './write-workspace.ts';

/** Budgets of workspaces: at most one for each interval. @see platform.md section 7, "Workspaces" */
export function createBudgetHandlers(
  parts: ManagementParts,
): Record<'listBudgets' | 'findBudget' | 'putBudget' | 'deleteBudget', Handler> {
  const { management } = parts;
  return {
    listBudgets: (request) =>
      askStore(async () => {
        const { id, settings } = await getWorkspace(management, request);
        const budgets = await management.listBudgets(id);
        return { data: budgets.map(writeBudget), include_byok_in_budgets: settings.includeByokInBudgets };
      }),

    findBudget: (request) =>
      askStore(async () => {
        const interval = readInterval(request);
        const workspace = await getWorkspace(management, request);
        return write(await getBudget(management, workspace, interval), workspace);
      }),

    async putBudget(request) {
      const interval = readInterval(request);
      const body = checkPutBudget(request.body);
      return makeChange(parts, request, async (transaction, nowMs) => {
        const workspace = await getWorkspace(transaction, request);
        const budgets = await transaction.listBudgets(workspace.id);
        const limitNanoUsd = nanoUsdOf(body.limit_usd);
        refuseDisorder(budgets, interval, limitNanoUsd);
        const includes = body.include_byok_in_budgets ?? workspace.settings.includeByokInBudgets;
        const settled = await setByok(transaction, workspace, includes, nowMs);
        const before = budgets.find((budget) => budget.interval === interval);
        if (before?.limitNanoUsd === limitNanoUsd) return write(before, settled);
        const base = before ?? { id: randomUUID(), workspaceId: workspace.id, interval, createdAtMs: nowMs };
        const after: BudgetRecord = { ...base, limitNanoUsd, updatedAtMs: nowMs };
        await transaction.putBudget(after);
        const changes = listChanges(before && auditFields(before), auditFields(after));
        await transaction.record(budgetHappening(before ? 'budget.update' : 'budget.create', after, changes));
        return write(after, settled);
      });
    },

    async deleteBudget(request) {
      const interval = readInterval(request);
      await makeChange(parts, request, async (transaction) => {
        const budget = await getBudget(transaction, await getWorkspace(transaction, request), interval);
        await transaction.deleteBudget(budget.workspaceId, interval);
        const changes = listChanges(auditFields(budget), undefined);
        await transaction.record(budgetHappening('budget.delete', budget, changes));
      });
      return { deleted: true };
    },
  };
}

const write = (budget: BudgetRecord, { settings }: WorkspaceDetails) => ({
  data: writeBudget(budget),
  include_byok_in_budgets: settings.includeByokInBudgets,
});

const auditFields = ({ interval, limitNanoUsd }: BudgetRecord) => ({ interval, limit_usd: usdOf(limitNanoUsd) });

const budgetHappening = (action: string, { id, workspaceId }: BudgetRecord, changes: Record<string, FieldChange>) => ({
  ...{ action, objectKind: 'budget', objectId: id, workspaceId, changes },
});

function readInterval(request: FastifyRequest): BudgetInterval {
  const wanted = param(request, 'interval');
  const interval = budgetIntervals.find((known) => known === wanted);
  if (interval !== undefined) return interval;
  const message = `"${wanted.slice(0, 100)}" is not one of ${budgetIntervals.toReversed().join(', ')}.`;
  throw invalidRequest([{ path: 'interval', message }]);
}

async function getBudget(
  from: { listBudgets(workspaceId: string): Promise<BudgetRecord[]> },
  { id, slug }: WorkspaceDetails,
  interval: BudgetInterval,
): Promise<BudgetRecord> {
  const budget = (await from.listBudgets(id)).find((one) => one.interval === interval);
  if (!budget) throw new GatewayError('not_found', `The workspace ${slug} has no ${interval} budget.`);
  return budget;
}

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
async function setByok(
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
