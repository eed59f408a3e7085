import { type ContentFilter, type FilterAction, INJECTION_SLUG, isStricter } from './content-filter.ts';

/** What a guardrail reaches a request through. */
export const guardrailScopes = ['account', 'workspace', 'member', 'api-key'] as const;
export type GuardrailScope = (typeof guardrailScopes)[number];

/** Messages that the prompt-injection filter of a guardrail scans. */
export type ScanScope = 'all_messages' | 'user_only';

/** A guardrail as far as content filters go. */
export interface FilterSource {
  readonly id: string;
  readonly scope: GuardrailScope;
  readonly filters: readonly (ContentFilter & { readonly scanScope?: ScanScope })[];
}

/** A filter and the guardrail that it comes from. */
export interface CombinedFilter {
  readonly filter: ContentFilter;
  readonly source: Pick<FilterSource, 'id' | 'scope'>;
}

/** What makes two filters the same one: the entity or the pattern. */
const keyOf = (filter: ContentFilter): string =>
  filter.type === 'builtin' ? `builtin ${filter.slug}` : `custom ${filter.pattern}`;

/**
 * Returns the filters that apply to a text: those of all guardrails. Of the same filter in several guardrails the one with
 * the strictest action remains (block, redact, flag), the first one of equals.
 *
 * @param isUserText whether a user wrote the text: prompt-injection filters with `user_only` skip all other text
 * @see docs/reference/guardrails.md#several-guardrails
 */
export function combineFilters(guardrails: readonly FilterSource[], isUserText: boolean): CombinedFilter[] {
  const combined = new Map<string, CombinedFilter>();
  for (const { id, scope, filters } of guardrails) {
    for (const { scanScope, ...filter } of filters) {
      const isInjection = filter.type === 'builtin' && filter.slug === INJECTION_SLUG;
      if (isInjection && scanScope === 'user_only' && !isUserText) continue;
      const key = keyOf(filter);
      const known = combined.get(key);
      if (known && !isStricter(filter.action, known.filter.action)) continue;
      combined.set(key, { filter: keepLabel(filter, known?.filter), source: { id, scope } });
    }
  }
  return [...combined.values()];
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
