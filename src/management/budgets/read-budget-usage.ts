import { type LimitUsage, readLimitUsage } from '../../metering/read-limit-usage.ts';
import type { BudgetRecord } from '../../platform/storage/ports/budgets.ts';
import type { SpendingStore } from '../../platform/storage/ports/spending.ts';
import type { WorkspaceDetails } from '../../platform/storage/ports/workspaces.ts';

/** Returns the usage of each budget, in their order. @throws the store's error */
export function readBudgetUsage(
  ledger: Pick<SpendingStore, 'readSpending'>,
  budgets: readonly BudgetRecord[],
  { id, settings }: WorkspaceDetails,
  nowMs: number,
): Promise<LimitUsage[]> {
  const limits = budgets.map(({ interval, limitNanoUsd }) => ({
    scope: { workspaceId: id },
    window: interval,
    limitNanoUsd,
    includesByok: settings.includeByokInBudgets,
  }));
  return readLimitUsage(ledger, limits, nowMs);
}
