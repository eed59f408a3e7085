import type { FilterSource, GuardrailScope } from '../domain/content-filter.ts';
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

/** Restrictions of a key by guardrails. Undefined: none. */
export interface GuardrailsOfKey {
  /** Those that forbid anything. */
  guardrails: readonly Guardrail[] | undefined;
  /** The content filters. One array for all keys with the same guardrails. */
  contentFilters: readonly FilterSource[] | undefined;
}

const nothing: GuardrailsOfKey = { guardrails: undefined, contentFilters: undefined };

/**
 * Prepares guardrails, each once for all its keys.
 *
 * @returns a function that returns what the guardrails of a key, its member and its workspace do
 * @see docs/guides/guardrails.md#rules
 */
export function applyGuardrails({
  guardrails,
  assignments,
}: GuardrailAssignments): (key: KeyIdentity) => GuardrailsOfKey {
  const ready = new Map<string, Guardrail>();
  const filtering = new Map<string, GuardrailRules>();
  for (const { id, rules, ...guardrail } of guardrails) {
    const made = compileGuardrail(titleOf(guardrail), rules);
    if (made) ready.set(id, made);
    if (rules.builtinFilters?.length || rules.customFilters?.length) filtering.set(id, rules);
  }
  if (ready.size + filtering.size === 0) return () => nothing;
  const assigned = new Map(assignments.map(({ kind, holder, guardrailId }) => [`${kind} ${holder}`, guardrailId]));
  const shared = new Map<string, readonly FilterSource[]>();
  return ({ hash, workspaceId, memberId }) => {
    const ofMember = memberId === null ? undefined : assigned.get(`member ${memberId}`);
    const scopes = new Map<string | undefined, GuardrailScope>([
      [assigned.get(`key ${hash}`), 'api-key'],
      [ofMember, 'member'],
      [defaultGuardrailId(workspaceId), 'workspace'],
    ]);
    const applied = [...scopes].reverse();
    const found = applied.flatMap(([id]) => ready.get(id ?? '') ?? []);
    const sources = applied.flatMap(([id, scope]): FilterSource[] => {
      const rules = filtering.get(id ?? '');
      if (!rules) return [];
      const { builtinFilters, customFilters } = rules;
      return [{ id: id!, scope, builtinFilters: builtinFilters ?? [], customFilters: customFilters ?? [] }];
    });
    return {
      guardrails: found.length > 0 ? found : undefined,
      contentFilters: sources.length > 0 ? share(shared, sources) : undefined,
    };
  };
}

/** Returns the first array with the same guardrails in the same scopes. */
function share(known: Map<string, readonly FilterSource[]>, sources: readonly FilterSource[]): readonly FilterSource[] {
  const key = sources.map(({ id, scope }) => `${scope} ${id}`).join(' ');
  const first = known.get(key) ?? sources;
  known.set(key, first);
  return first;
}
