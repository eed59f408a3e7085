import type { ReasoningEffort } from '../../domain/items.ts';
import { type Dialect, levels } from './dialect.ts';

export interface ModelTraits {
  /** `budget`: a number of tokens between `min` and `max`. `level`: a named level. */
  thinking: 'budget' | 'level' | 'none';
  /** The smallest budget. */
  min: number;
  max: number;
  /** Whether a budget of 0 turns thinking off. */
  canStop: boolean;
  levels: readonly ReasoningEffort[];
  /** Whether the name of the model says all of this. */
  isKnown?: boolean;
}

const budget = (min: number, max: number, canStop: boolean): ModelTraits => ({
  thinking: 'budget',
  min,
  max,
  canStop,
  levels: [],
});
const level = (...known: ReasoningEffort[]): ModelTraits => ({
  thinking: 'level',
  min: 0,
  max: 0,
  canStop: true, // earendil-works/pi#9455
  levels: known,
});
/** Sources: docker/docker-agent#2051, vellum-ai/vellum-assistant#32687 */
const pro = (...known: ReasoningEffort[]): ModelTraits => ({ ...level(...known), canStop: false });

/**
 * Traits by the prefix of the model's name. The first match applies. Source: the provider's guide to thinking, 2026-11.
 */
const families: readonly [RegExp, ModelTraits][] = [
  [/^gemini-2\.5-pro/, budget(128, 32_768, false)],
  [/^gemini-2\.5-flash-lite/, budget(512, 24_576, true)],
  [/^gemini-2\.5-flash-image/, { ...budget(0, 0, true), thinking: 'none' }],
  [/^gemini-2\.5/, budget(1, 24_576, true)],
  [/^gemini-(?:1|2\.0)|^gemma|^learnlm/, { ...budget(0, 0, true), thinking: 'none' }],
  [/^gemini-3\.\d+-flash(?:-lite)?-image/, level('minimal', 'high')],
  [/^gemini-nano-banana/, level('minimal', 'medium', 'high')],
  [/^gemini-3-pro/, pro('low', 'high')],
  [/^gemini-3\.\d+-pro/, pro('low', 'medium', 'high')],
  [/^gemini-3\.[78]-flash/, level('low', 'medium', 'high')], // BerriAI/litellm-docs#1505
  [/^gemini-/, level(...levels)],
];

const unknown = budget(1, 24_576, true);

/** Returns the traits of a model by its name. The operator's settings take precedence. */
export function readTraits(dialect: Dialect, model: string): ModelTraits {
  const name = model.replace(/^.*\//, '');
  const found = families.find(([pattern]) => pattern.test(name))?.[1];
  const traits = found ?? unknown;
  return {
    ...traits,
    ...(found && dialect.thinking === 'auto' && { isKnown: true }),
    thinking: dialect.thinking === 'auto' ? traits.thinking : dialect.thinking,
    max: traits.max || unknown.max,
    levels: dialect.levels.length > 0 ? dialect.levels : traits.levels.length > 0 ? traits.levels : levels,
  };
}
