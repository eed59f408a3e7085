import { usdOf } from '../../metering/cost.ts';
import { type GuardrailLimit, listGuardrailLimits } from '../../metering/guardrail-limits.ts';
import { readLimitUsage } from '../../metering/read-limit-usage.ts';
import type { AccessStore } from '../../platform/storage/ports/access.ts';
import type { LedgerStore } from '../../platform/storage/ports/ledger.ts';
import type { Listed, Page } from '../../platform/storage/ports/page.ts';
import { writeLimitUsage } from '../write-limit-usage.ts';

/** Where it is asked who has a guardrail, and what they have spent. */
export interface GuardrailBudgetSource {
  access: Pick<AccessStore, 'listKeys' | 'listAppliedGuardrails'>;
  ledger: Pick<LedgerStore, 'readSpending'>;
}

/**
 * What each key and each member may spend by a guardrail and has spent, as it is told on the wire: keys first, each kind
 * by name. Where it has no limit there is nobody.
 *
 * @throws the store's error
 */
export async function listGuardrailBudgets(
  { access, ledger }: GuardrailBudgetSource,
  id: string,
  { offset, limit }: Page,
  nowMs: number,
): Promise<Listed<Record<string, unknown>>> {
  const { guardrails, assignments } = await access.listAppliedGuardrails();
  const own = guardrails.filter((guardrail) => guardrail.id === id); // none: a default one that nobody has written
  const keys = new Map((await access.listKeys()).map((key) => [key.hash, key]));
  const budgets = listGuardrailLimits({ guardrails: own, assignments }, [...keys.values()])
    .map((budget) => ({ ...budget, ...readHolder(budget) }))
    .sort((a, b) => compare(a.name, b.name) || compare(a.holder, b.holder)); // "The key …", "The member …"
  const page = budgets.slice(offset, offset + limit);
  const usages = await readLimitUsage(ledger, page, nowMs);
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

/** One order on all hosts, whatever their language. */
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
