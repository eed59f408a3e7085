import {
  type BuiltinFilter,
  type ContentFilter,
  type CustomFilter,
  type FilterAction,
  type FilterSide,
  type FilterSource,
  INJECTION_SLUG,
} from '../domain/content-filter.ts';
import { isStricter } from './builtin-filters.ts';

/**
 * A text as filters see it: a message of a user, anything else that a request sends (`context`), or what a model wrote.
 */
export const textKinds = ['user', 'context', 'output'] as const;
export type TextKind = (typeof textKinds)[number];

/** A filter and the guardrail that it comes from. */
export interface CombinedFilter {
  readonly filter: ContentFilter;
  readonly source: Pick<FilterSource, 'id' | 'scope'>;
}

const onInput: readonly FilterSide[] = ['input'];

/**
 * Returns the filters of all guardrails that apply to a kind of text. If several guardrails have the same filter, the one
 * with the strictest action remains (block, redact, flag). The first one of equals remains.
 *
 * @see docs/reference/guardrails.md#several-guardrails
 */
export function combineFilters(guardrails: readonly FilterSource[], kind: TextKind): CombinedFilter[] {
  const combined = new Map<string, CombinedFilter>();
  const add = (key: string, filter: ContentFilter, { id, scope }: FilterSource): void => {
    const known = combined.get(key);
    if (known && !isStricter(filter.action, known.filter.action)) return;
    combined.set(key, { filter: keepLabel(filter, known?.filter), source: { id, scope } });
  };
  for (const guardrail of guardrails) {
    for (const filter of guardrail.builtinFilters) {
      const { slug, action } = filter;
      if (applies(filter, kind)) add(`builtin ${slug}`, { type: 'builtin', slug, action }, guardrail);
    }
    for (const filter of guardrail.customFilters) {
      const { pattern, label, action } = filter;
      if (applies(filter, kind)) add(`custom ${pattern}`, { type: 'custom', pattern, label, action }, guardrail);
    }
  }
  return [...combined.values()];
}

function applies(filter: BuiltinFilter | CustomFilter, kind: TextKind): boolean {
  const { applyTo = onInput } = filter;
  if (!applyTo.includes(kind === 'output' ? 'output' : 'input')) return false;
  if (!('slug' in filter) || filter.slug !== INJECTION_SLUG) return true;
  return kind === 'user' || filter.scanScope !== 'user_only';
}

/** A custom filter without a label has that of the same pattern in another guardrail. */
function keepLabel(filter: ContentFilter, known: ContentFilter | undefined): ContentFilter {
  if (filter.type === 'builtin' || filter.label !== null || known?.type !== 'custom') return filter;
  return { ...filter, label: known.label };
}

/** Returns the strictest action. Undefined: there is none. */
export function findStrictest(actions: readonly FilterAction[]): FilterAction | undefined {
  return actions.reduce<FilterAction | undefined>(
    (strictest, action) => (strictest === undefined || isStricter(action, strictest) ? action : strictest),
    undefined,
  );
}
