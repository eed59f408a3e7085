import type { ReasoningEffort } from '../../domain/items.ts';
import { bareName } from '../rules/resolve.ts';

export interface ModelTraits {
  /** The largest `max_tokens` that the model accepts. Undefined: the server chooses. */
  maxTokens: number | undefined;
  /**
   * `budget`: a number of tokens. `adaptive`: the model decides, guided by an effort. `enabled`: the model thinks, guided by
   * an effort, and the server ignores a budget.
   */
  thinking: 'budget' | 'adaptive' | 'enabled' | 'none';
  /** Whether an adaptive model accepts a budget as well. */
  takesBudget?: boolean;
  /** Levels of `output_config.effort`. Empty if the model does not support the field. */
  efforts: readonly ReasoningEffort[];
  /** Whether its thinking arrives as a summary instead of raw reasoning. */
  summarizes: boolean;
}

const three: readonly ReasoningEffort[] = ['low', 'medium', 'high'];
/** The traits of models from 4.7 on. */
const newest: ModelTraits = {
  maxTokens: 64_000,
  thinking: 'adaptive',
  efforts: [...three, 'xhigh', 'max'],
  summarizes: true,
};

/**
 * Traits by the prefix of the model's name. The first match applies. Source: the provider's table of models, 2026-11.
 * The operator's `dialect` takes precedence.
 */
const families: readonly [RegExp, ModelTraits][] = [
  [
    /^claude-(?:3-(?:haiku|opus|sonnet)|2|instant)/,
    { maxTokens: 4096, thinking: 'none', efforts: [], summarizes: false },
  ],
  [/^claude-3-5/, { maxTokens: 8192, thinking: 'none', efforts: [], summarizes: false }],
  [/^claude-3-7/, { maxTokens: 64_000, thinking: 'budget', efforts: [], summarizes: false }],
  [/^claude-opus-4(?:-[01])?(?:-\d{8}|$)/, { maxTokens: 32_000, thinking: 'budget', efforts: [], summarizes: true }],
  [
    /^claude-(?:sonnet|haiku)-4(?:-[0-5])?(?:-\d{8}|$)/,
    { maxTokens: 64_000, thinking: 'budget', efforts: [], summarizes: true },
  ],
  [/^claude-opus-4-5/, { maxTokens: 64_000, thinking: 'budget', efforts: three, summarizes: true }],
  [
    /^claude-(?:(?:opus|sonnet|haiku)-4-6|mythos-preview)/,
    { maxTokens: 64_000, thinking: 'adaptive', takesBudget: true, efforts: [...three, 'max'], summarizes: true },
  ],
  [/^claude-/, newest],
];

/** Traits of unknown models: the features that every server of this format accepts. Their thinking is raw. */
const unknown: ModelTraits = { maxTokens: 8192, thinking: 'budget', efforts: [], summarizes: false };

export function traitsOf(model: string): ModelTraits {
  const name = bareName(model);
  return families.find(([pattern]) => pattern.test(name))?.[1] ?? unknown;
}
