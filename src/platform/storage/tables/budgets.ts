import { type BudgetInterval, type BudgetRecord, budgetIntervals } from '../ports/budgets.ts';
import { readNumber } from './columns.ts';
import type { Database } from './database.ts';

/**
 * Lists the broadest first.
 *
 * @param workspaceId undefined: of all workspaces
 */
export async function listBudgetRows(db: Database, workspaceId?: string): Promise<BudgetRecord[]> {
  let query = db.selectFrom('budgets').selectAll();
  if (workspaceId !== undefined) query = query.where('workspace_id', '=', workspaceId);
  const rows = await query.execute();
  return rows
    .map((row) => ({
      id: row.id,
      workspaceId: row.workspace_id,
      interval: row.reset_interval,
      limitNanoUsd: row.limit_nano_usd,
      createdAtMs: readNumber(row.created_at_ms),
      updatedAtMs: readNumber(row.updated_at_ms),
    }))
    .sort((a, b) => budgetIntervals.indexOf(a.interval) - budgetIntervals.indexOf(b.interval));
}

/** Inserts, or replaces limit and `updated_at_ms`. */
export async function putBudgetRow(trx: Database, budget: BudgetRecord): Promise<void> {
  await trx
    .insertInto('budgets')
    .values({
      id: budget.id,
      workspace_id: budget.workspaceId,
      reset_interval: budget.interval,
      limit_nano_usd: budget.limitNanoUsd,
      created_at_ms: budget.createdAtMs,
      updated_at_ms: budget.updatedAtMs,
    })
    .onConflict((oc) =>
      oc.columns(['workspace_id', 'reset_interval']).doUpdateSet((eb) => ({
        limit_nano_usd: eb.ref('excluded.limit_nano_usd'),
        updated_at_ms: eb.ref('excluded.updated_at_ms'),
      })),
    )
    .execute();
}

export async function deleteBudgetRow(trx: Database, workspaceId: string, interval: BudgetInterval): Promise<void> {
  await trx
    .deleteFrom('budgets')
    .where('workspace_id', '=', workspaceId)
    .where('reset_interval', '=', interval)
    .execute();
}
