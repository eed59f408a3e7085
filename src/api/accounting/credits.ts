import { readBalance } from '../../management/credits/read-balance.ts';
import { usdOf } from '../../metering/cost.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import type { ManagementApiParts, ManagementHandler } from '../management/route.ts';

/**
 * `GET /credits`: the credits of the organization (`headgate credits add`), and the spending of all workspaces.
 *
 * @see docs/guides/limits.md
 */
export function createCreditsHandler(parts: Pick<ManagementApiParts, 'ledger' | 'management'>): ManagementHandler {
  return async () => {
    const { credits, usage } = await callStore(() => readBalance(parts));
    return { data: { total_credits: usdOf(credits), total_usage: usdOf(usage) } };
  };
}
