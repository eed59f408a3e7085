import { usdOf } from '../../metering/cost.ts';
import { askStore, type Handler, type ManagementParts } from '../management/store.ts';

/**
 * `GET /credits`: what was paid in for the organization (`headgate credits add`), and what all workspaces have spent.
 *
 * @see platform.md section 6
 */
export function createCreditsHandler({ ledger, management }: Pick<ManagementParts, 'ledger' | 'management'>): Handler {
  return () =>
    askStore(async () => {
      const [credits, [spent = 0n]] = await Promise.all([
        management.readCredits(),
        ledger.readSpending('everything', 0),
      ]);
      return { data: { total_credits: usdOf(credits ?? 0n), total_usage: usdOf(spent) } };
    });
}
