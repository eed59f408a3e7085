/** From mild to strict. */
export const filterActions = ['flag', 'redact', 'block'] as const;
export type FilterAction = (typeof filterActions)[number];

/** Built-in filters that search with expressions. */
export const patternSlugs = ['email', 'phone', 'ssn', 'credit-card', 'ip-address', 'secrets'] as const;
export type PatternSlug = (typeof patternSlugs)[number];
/** Built-in filters that need an external analyzer. */
export const recognizedSlugs = ['person-name', 'address'] as const;
export type RecognizedSlug = (typeof recognizedSlugs)[number];
export const INJECTION_SLUG = 'regex-prompt-injection';
export const builtinSlugs = [...patternSlugs, ...recognizedSlugs, INJECTION_SLUG] as const;
export type BuiltinSlug = (typeof builtinSlugs)[number];

/** Maximum number of phrases that hide from prompt-injection filters, and maximum bytes of each in UTF-8. */
export const MAX_PHRASES = 200;
export const MAX_PHRASE_BYTES = 1000;

/** Messages that a prompt-injection filter scans. */
export const scanScopes = ['all_messages', 'user_only'] as const;
export type ScanScope = (typeof scanScopes)[number];

/** The texts that a filter applies to: those of callers, or those of models. */
export const filterSides = ['input', 'output'] as const;
export type FilterSide = (typeof filterSides)[number];

/** A filter that applies to a text. */
export type ContentFilter =
  | { readonly type: 'builtin'; readonly slug: BuiltinSlug; readonly action: FilterAction }
  | { readonly type: 'custom'; readonly pattern: string; readonly label: string | null; readonly action: FilterAction };

/** A built-in filter of a guardrail. */
export interface BuiltinFilter {
  readonly slug: BuiltinSlug;
  readonly action: FilterAction;
  /** Only of the prompt-injection filter. Absent: all messages. */
  readonly scanScope?: ScanScope;
  /** Absent: input. */
  readonly applyTo?: readonly FilterSide[];
}

/** A custom filter of a guardrail. */
export interface CustomFilter {
  readonly pattern: string;
  readonly label: string | null;
  readonly action: FilterAction;
  /** Absent: input. */
  readonly applyTo?: readonly FilterSide[];
}

/** The object through which a guardrail applies to a request. */
export type GuardrailScope = 'workspace' | 'member' | 'api-key';

/** A guardrail of a caller as far as content filters go. */
export interface FilterSource {
  readonly id: string;
  readonly scope: GuardrailScope;
  readonly builtinFilters: readonly BuiltinFilter[];
  readonly customFilters: readonly CustomFilter[];
}
