import type { ReasoningEffort } from '../../domain/items.ts';

export interface ModelTraits {
  /** The largest `max_tokens` that the model takes. */
  maxTokens: number;
  /** `budget`: a number of tokens; `adaptive`: the model decides, led by an effort. */
  thinking: 'budget' | 'adaptive' | 'none';
  /** Levels of `output_config.effort`; empty when the model does not know it. */
  efforts: readonly ReasoningEffort[];
}

const three: readonly ReasoningEffort[] = ['low', 'medium', 'high'];

/**
 * By the beginning of the model's name; the first that fits counts. From the provider's table of models, 2026-11. The
 * operator's `dialect` wins.
 */
const families: readonly [RegExp, ModelTraits][] = [
  [/^claude-(?:3-(?:haiku|opus|sonnet)|2|instant)/, { maxTokens: 4096, thinking: 'none', efforts: [] }],
  [/^claude-3-5/, { maxTokens: 8192, thinking: 'none', efforts: [] }],
  [/^claude-3-7/, { maxTokens: 64_000, thinking: 'budget', efforts: [] }],
  [/^claude-opus-4(?:-[01])?(?:-\d{8}|$)/, { maxTokens: 32_000, thinking: 'budget', efforts: [] }],
  [/^claude-(?:sonnet|haiku)-4(?:-[0-5])?(?:-\d{8}|$)/, { maxTokens: 64_000, thinking: 'budget', efforts: [] }],
  [/^claude-opus-4-5/, { maxTokens: 64_000, thinking: 'budget', efforts: three }],
  [/^claude-/, { maxTokens: 64_000, thinking: 'adaptive', efforts: [...three, 'max'] }],
];

/** Of other names: what every server that speaks this format takes. */
const unknown: ModelTraits = { maxTokens: 8192, thinking: 'budget', efforts: [] };

export function traitsOf(model: string): ModelTraits {
  const name = model.replace(/^.*[./]/, ''); // some servers put a vendor or a region in front
  return families.find(([pattern]) => pattern.test(name))?.[1] ?? unknown;
}
