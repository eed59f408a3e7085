import { readTotalSpending } from '../../management/credits/read-total-spending.ts';
import { usdOf } from '../../metering/cost.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import type { ManagementHandler, ManagementParts } from '../management/route-handler.ts';

/**
 * `GET /credits`: what was paid in for the organization (`headgate credits add`), and what all workspaces have spent.
 *
 * @see docs/guides/limits.md
 */
export function createCreditsHandler({
  ledger,
  management,
}: Pick<ManagementParts, 'ledger' | 'management'>): ManagementHandler {
  return () =>
    callStore(async () => {
      const [credits, usage] = await Promise.all([management.readCredits(), readTotalSpending(ledger)]);
      return { data: { total_credits: usdOf(credits ?? 0n), total_usage: usdOf(usage) } };
    });
}
