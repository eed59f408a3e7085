import { defaultGuardrailId, titleOf } from '../domain/guardrail.ts';
import type { AppliedGuardrails } from '../platform/storage/ports/guardrails.ts';
import type { KeyRecord, LimitReset } from '../platform/storage/ports/keys.ts';
import type { SpendingLimit } from './spending.ts';

/** A limit that a guardrail sets for a key or a member. */
export interface GuardrailLimit extends SpendingLimit {
  kind: 'guardrail';
  scope: Holder;
  window: LimitReset;
  guardrail: { id: string; title: string };
}
type Holder = { keyHash: string } | { memberId: string };

/** A guardrail's limit applies to each holder separately. */
interface Whose {
  scope: Holder;
  name: string;
}

/**
 * Lists the limits of guardrails. A default guardrail applies to all keys of its workspace and to their owners.
 *
 * @see docs/guides/guardrails.md#rules
 */
export function listGuardrailLimits(
  { guardrails, assignments }: AppliedGuardrails,
  keys: readonly Pick<KeyRecord, 'hash' | 'name' | 'kind' | 'workspaceId' | 'memberId'>[],
): GuardrailLimit[] {
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

const ofKey = (keyHash: string, name: string): Whose => ({ scope: { keyHash }, name: `The key "${name}"` });
const ofMember = (memberId: string): Whose => ({ scope: { memberId }, name: `The member "${memberId}"` });

const writeLimit = (guardrail: AppliedGuardrails['guardrails'][number], whose: Whose): GuardrailLimit => ({
  ...whose,
  kind: 'guardrail',
  window: guardrail.resetInterval!, // checked by `limited`
  limitNanoUsd: guardrail.limitNanoUsd!,
  guardrail: { id: guardrail.id, title: titleOf(guardrail) },
  includesByok: guardrail.includeByokInBudgets,
});
