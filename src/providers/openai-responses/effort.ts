import type { ReasoningEffort } from '../../domain/items.ts';
import type { ReasoningSetting } from '../../domain/request.ts';
import type { Dialect } from './dialect.ts';

/** The share of the output limit that each level stands for. @see responses-request.md section 4 */
const shares: Record<ReasoningEffort, number> = {
  none: 0,
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.95,
  max: 0.95,
};

/** `max` has the share of `xhigh` and is known to fewer models, so a budget never becomes it. */
const budgetLevels: readonly ReasoningEffort[] = ['minimal', 'low', 'medium', 'high', 'xhigh'];

/** The output limit that a reasoning budget is measured against when the caller sets none: a choice of ours. */
const assumedOutputTokens = 32_768;

/**
 * `reasoning` as the upstream knows it: levels of effort only, without `enabled` and `max_tokens`.
 *
 * @param updated the effort of the last `configuration_update` item, which outweighs the request's
 * @returns undefined when nothing is left to say
 */
export function writeReasoning(
  setting: ReasoningSetting,
  updated: ReasoningEffort | undefined,
  maxOutputTokens: number | undefined | null,
  dialect: Dialect,
): Record<string, unknown> | undefined {
  const { enabled, max_tokens: _budget, effort: _effort, context, ...rest } = setting; // fields we do not know stay
  const written: Record<string, unknown> = rest;
  const effort = updated ?? readEffort(setting, maxOutputTokens ?? assumedOutputTokens, dialect);
  if (effort !== undefined) written.effort = supportedEffort(effort, dialect);
  if (context && context !== 'auto') written.context = context; // `auto` and absent are the same
  for (const key in written) if (written[key] !== null && written[key] !== undefined) return written;
  return undefined;
}

/** Off is off, whatever else is said; then the level, then the budget, then the bare wish. */
function readEffort(
  { enabled, effort, max_tokens: budget }: ReasoningSetting,
  outputTokens: number,
  dialect: Dialect,
): ReasoningEffort | undefined {
  if (enabled === false) return 'none';
  if (effort) return effort;
  if (budget === 0) return 'none';
  if (typeof budget === 'number') {
    const levels = dialect.efforts?.filter((level) => level !== 'none') ?? budgetLevels;
    return nearest(budget / outputTokens, levels.length > 0 ? levels : budgetLevels);
  }
  return enabled ? 'medium' : undefined;
}

function supportedEffort(effort: ReasoningEffort, { efforts }: Dialect): ReasoningEffort {
  if (!efforts || efforts.length === 0 || efforts.includes(effort)) return effort;
  return nearest(shares[effort], efforts);
}

/** Of two levels equally near, the later one in the list. @param levels at least one */
function nearest(share: number, levels: readonly ReasoningEffort[]): ReasoningEffort {
  const distance = (level: ReasoningEffort) => Math.abs(shares[level] - share);
  return levels.reduce((best, level) => (distance(level) <= distance(best) ? level : best));
}
