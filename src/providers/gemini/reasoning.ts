import { findEffort, type ReasoningEffort } from '../../domain/items.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import { isSet } from '../kit/draft.ts';
import { effortShare, planEffort } from '../kit/effort.ts';
import type { GeminiDraft } from './parts.ts';

/** `thinkingConfig` of the protocol. A model accepts a budget or a level, never both. */
export interface ThinkingConfig {
  includeThoughts: boolean;
  thinkingBudget?: number;
  thinkingLevel?: string;
}

/** The output limit for computing a budget from an effort if the request sets no limit: choice 69. */
const ASSUMED_OUTPUT = 32_000;

/**
 * Writes the reasoning settings of a request.
 *
 * @param update effort of the last `configuration_update`, which takes precedence
 * @returns undefined if the request sets nothing, or the model does not think
 * @see docs/reference/responses.md#reasoning, docs/reference/wires.md
 */
export function writeThinking(
  draft: GeminiDraft,
  request: ResponseRequest,
  update: ReasoningEffort | undefined,
): ThinkingConfig | undefined {
  const { reasoning } = request;
  if (!reasoning && update === undefined) return undefined;
  const { dropped, traits } = draft;
  const { context, mode, summary } = reasoning ?? {};
  if (context) dropped.push('reasoning.context');
  if (mode) dropped.push('reasoning.mode');
  if (summary && summary !== 'auto') dropped.push(`reasoning.summary (${summary})`);

  const budget = update === undefined && isSet(reasoning?.max_tokens) ? Number(reasoning?.max_tokens) : undefined;
  const effort = update ?? (reasoning?.enabled === false ? 'none' : findEffort(reasoning?.effort));
  const isOff = effort === 'none' || (effort === undefined && budget === 0);
  if (traits.thinking === 'none') {
    if (effort && !isOff) dropped.push('reasoning.effort');
    if (budget) dropped.push('reasoning.max_tokens');
    return undefined;
  }
  // A caller that sets no amount may still want to read the thoughts.
  const isOpen = effort === undefined && budget === undefined && !reasoning?.enabled;
  if (isOpen) return summary ? { includeThoughts: true } : undefined;
  if (traits.thinking === 'budget') return planBudget(draft, request, { effort, budget, isOff });
  if (budget && effort === undefined) return { includeThoughts: true, thinkingBudget: budget };
  if (budget && !isOff) dropped.push('reasoning.max_tokens');
  const level = planEffort(reasoning, update, request.max_output_tokens, traits.levels) ?? 'medium';
  const asked = isOff ? 'none' : (effort ?? 'medium');
  const ours = asked === 'xhigh' || asked === 'max' ? 'high' : asked; // the same level under another name
  if (ours !== level) dropped.push(`reasoning.effort (${asked} → ${level})`);
  return { includeThoughts: !isOff, thinkingLevel: level };
}

interface Wish {
  effort: ReasoningEffort | undefined;
  budget: number | undefined;
  isOff: boolean;
}

function planBudget(draft: GeminiDraft, request: ResponseRequest, { effort, budget, isOff }: Wish): ThinkingConfig {
  const { traits, dropped } = draft;
  const { min, max, canStop } = traits;
  if (isOff) {
    if (!canStop) dropped.push(`reasoning.effort (none → ${min} tokens)`);
    return { includeThoughts: false, thinkingBudget: canStop ? 0 : min };
  }
  if (budget !== undefined) {
    if (effort) dropped.push('reasoning.effort');
    const fit = Math.min(Math.max(budget, min), max);
    if (fit !== budget) dropped.push(`reasoning.max_tokens (${budget} → ${fit})`);
    return { includeThoughts: true, thinkingBudget: fit };
  }
  const share = Math.floor((request.max_output_tokens || ASSUMED_OUTPUT) * effortShare(effort ?? 'medium'));
  return { includeThoughts: true, thinkingBudget: Math.min(Math.max(share, min), max) };
}
