import { usdOf } from '../../metering/cost.ts';
import { writeLimitUsage } from '../write-limit-usage.ts';
import { writeTime } from '../write-time.ts';
import type { SpentBudget } from './find-budget.ts';

/** `WorkspaceBudget` of the interface, with its usage. */
export const writeBudget = ({ budget, usage }: SpentBudget) => ({
  id: budget.id,
  workspace_id: budget.workspaceId,
  limit_usd: usdOf(budget.limitNanoUsd),
  reset_interval: budget.interval === 'lifetime' ? null : budget.interval,
  ...writeLimitUsage(usage),
  created_at: writeTime(budget.createdAtMs),
  updated_at: writeTime(budget.updatedAtMs),
});
