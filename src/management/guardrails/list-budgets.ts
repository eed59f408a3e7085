import { usdOf } from '../../metering/cost.ts';
import { type GuardrailLimit, listGuardrailLimits } from '../../metering/guardrail-limits.ts';
import { readLimitUsage } from '../../metering/read-limit-usage.ts';
import type { Listed, Page } from '../../platform/storage/ports/page.ts';
import type { ManagementParts } from '../parts.ts';
import { writeLimitUsage } from '../write-limit-usage.ts';

/**
 * Returns the limit of a guardrail and its usage for each key and member that has the guardrail, as the API shows it:
 * keys first, each kind by name. A guardrail without a limit has none.
 *
 * @throws the store's error
 */
export async function listGuardrailBudgets(
  { access, ledger, now }: Pick<ManagementParts, 'access' | 'ledger' | 'now'>,
  id: string,
  { offset, limit }: Page,
): Promise<Listed<Record<string, unknown>>> {
  const { guardrails, assignments } = await access.listAppliedGuardrails();
  const own = guardrails.filter((guardrail) => guardrail.id === id); // none: a default guardrail that was never changed
  const keys = new Map((await access.listKeys()).map((key) => [key.hash, key]));
  const budgets = listGuardrailLimits({ guardrails: own, assignments }, [...keys.values()])
    .map((budget) => ({ ...budget, ...readHolder(budget) }))
    .sort((a, b) => compare(a.name, b.name) || compare(a.holder, b.holder)); // "The key …", "The member …"
  const page = budgets.slice(offset, offset + limit);
  const usages = await readLimitUsage(ledger, page, now());
  const rows = page.map(({ isKey, holder, limitNanoUsd, window }, at) => ({
    key_hash: isKey ? holder : null,
    key_name: (isKey && keys.get(holder)?.name) || null,
    key_label: (isKey && keys.get(holder)?.label) || null,
    user_id: isKey ? null : holder,
    limit_usd: usdOf(limitNanoUsd),
    reset_interval: window,
    ...writeLimitUsage(usages[at]!),
  }));
  return { rows, total: budgets.length };
}

const readHolder = ({ scope }: GuardrailLimit) =>
  'keyHash' in scope ? { isKey: true, holder: scope.keyHash } : { isKey: false, holder: scope.memberId };

/** Does not depend on the locale of the host. */
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
