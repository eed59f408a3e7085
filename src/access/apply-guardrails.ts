import { defaultGuardrailId, type Guardrail, type GuardrailRules, titleOf } from '../domain/guardrail.ts';
import { compileGuardrail } from '../routing/guardrail.ts';

/** All guardrails, and their assignments to keys and members. */
export interface GuardrailAssignments {
  guardrails: readonly {
    id: string;
    name: string;
    workspaceId: string;
    workspaceName: string;
    rules: GuardrailRules;
  }[];
  assignments: readonly { kind: 'key' | 'member'; holder: string; guardrailId: string }[];
}

/** The part of a key that decides which guardrails apply to it. */
export interface KeyIdentity {
  hash: string;
  workspaceId: string;
  memberId: string | null;
}

/**
 * Prepares guardrails, each once for all its keys.
 *
 * @returns a function that returns the guardrails of a key, its member and its workspace; undefined if none has a rule
 * @see docs/guides/guardrails.md#rules
 */
export function applyGuardrails({
  guardrails,
  assignments,
}: GuardrailAssignments): (key: KeyIdentity) => readonly Guardrail[] | undefined {
  const ready = new Map<string, Guardrail>();
  for (const guardrail of guardrails) {
    const made = compileGuardrail(titleOf(guardrail), guardrail.rules);
    if (made) ready.set(guardrail.id, made);
  }
  if (ready.size === 0) return () => undefined;
  const assigned = new Map(assignments.map(({ kind, holder, guardrailId }) => [`${kind} ${holder}`, guardrailId]));
  return ({ hash, workspaceId, memberId }) => {
    const ofMember = memberId === null ? undefined : assigned.get(`member ${memberId}`);
    const ids = new Set([defaultGuardrailId(workspaceId), ofMember, assigned.get(`key ${hash}`)]);
    const found = [...ids].flatMap((id) => ready.get(id ?? '') ?? []);
    return found.length > 0 ? found : undefined;
  };
}
