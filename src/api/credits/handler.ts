import { usdOf } from '../../metering/cost.ts';
import { askStore, type Handler, type ManagementParts } from '../management/store.ts';

/**
 * `GET /credits`: what all workspaces have spent. Nobody buys credits from a gateway of their own, so there are none.
 *
 * @see platform.md section 6
 */
export function createCreditsHandler({ ledger }: Pick<ManagementParts, 'ledger'>): Handler {
  return () =>
    askStore(async () => {
      const [spent = 0n] = await ledger.readSpending('everything', 0);
      return { data: { total_credits: 0, total_usage: usdOf(spent) } };
    });
}
