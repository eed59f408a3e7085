import { defaultGuardrailId } from '../domain/guardrail.ts';
import type { AppliedGuardrails, GuardrailRecord, KeyRecord } from '../platform/storage/storage.ts';
import type { SpendingLimit } from './spending.ts';

/** What a guardrail says of spending is said to each holder by itself: they share nothing. */
type Whose = Pick<SpendingLimit, 'scope'> & { name: string };

/**
 * What guardrails let keys and members spend. A default one speaks to all keys of its workspace and to the members who
 * own them.
 *
 * @see guardrails.md section 2, "Budgets"
 */
export function listGuardrailLimits(
  { guardrails, assignments }: AppliedGuardrails,
  keys: readonly Pick<KeyRecord, 'hash' | 'name' | 'kind' | 'workspaceId' | 'memberId'>[],
): SpendingLimit[] {
  const limited = guardrails.filter(
    ({ limitNanoUsd, resetInterval }) => limitNanoUsd !== null && resetInterval !== null,
  );
  if (limited.length === 0) return [];
  const names = new Map(keys.map(({ hash, name }) => [hash, name]));
  return limited.flatMap((guardrail) => {
    const { id, workspaceId } = guardrail;
    const assigned = assignments.filter(({ guardrailId }) => guardrailId === id);
    const holders =
      id === defaultGuardrailId(workspaceId)
        ? listInside(workspaceId, keys)
        : assigned.map(({ kind, holder }) =>
            kind === 'key' ? ofKey(holder, names.get(holder) ?? holder.slice(0, 12)) : ofMember(holder),
          );
    return holders.map((whose) => writeLimit(guardrail, whose));
  });
}

function listInside(workspaceId: string, keys: Parameters<typeof listGuardrailLimits>[1]): Whose[] {
  const own = keys.filter((key) => key.workspaceId === workspaceId && key.kind !== 'management');
  const members = new Set(own.flatMap(({ memberId }) => memberId ?? []));
  return [...own.map(({ hash, name }) => ofKey(hash, name)), ...[...members].map(ofMember)];
}

const ofKey = (keyHash: string, name: string): Whose => ({ scope: { keyHash }, name: `the key ${name}` });
const ofMember = (memberId: string): Whose => ({ scope: { memberId }, name: `the member ${memberId}` });

const writeLimit = (
  { name, limitNanoUsd, resetInterval, includeByokInBudgets }: GuardrailRecord,
  whose: Whose,
): SpendingLimit => ({
  kind: 'guardrail',
  scope: whose.scope,
  window: resetInterval!, // as `limited` has seen
  limitNanoUsd: limitNanoUsd!,
  name: `By the guardrail ${name} ${whose.name}`,
  includesByok: includeByokInBudgets,
});
