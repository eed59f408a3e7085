import type { LimitReset } from './keys.ts';

export type BudgetInterval = LimitReset | 'lifetime';

/** The broadest first. */
export const budgetIntervals: readonly BudgetInterval[] = ['lifetime', 'monthly', 'weekly', 'daily'];

export interface BudgetRecord {
  id: string;
  workspaceId: string;
  interval: BudgetInterval;
  limitNanoUsd: bigint;
  createdAtMs: number;
  updatedAtMs: number;
}

export interface BudgetReader {
  /**
   * Lists the broadest first.
   *
   * @param workspaceId undefined: of all workspaces
   */
  listBudgets(workspaceId?: string): Promise<BudgetRecord[]>;
}

export interface BudgetWriter {
  listBudgets(workspaceId: string): Promise<BudgetRecord[]>;
  /** Creates or replaces, by workspace and interval. */
  putBudget(budget: BudgetRecord): Promise<void>;
  deleteBudget(workspaceId: string, interval: BudgetInterval): Promise<void>;
}
