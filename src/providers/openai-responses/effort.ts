import type { ReasoningEffort } from '../../domain/items.ts';
import type { ReasoningSetting } from '../../domain/request.ts';

/** The share of the output limit that each level stands for, in order. @see responses-request.md section 4 */
const shares: Record<ReasoningEffort, number> = {
  none: 0,
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.95,
  max: 0.95,
};
const ranks = Object.keys(shares) as ReasoningEffort[]; // the keys of the table above

/** The output limit that a reasoning budget is measured against when the caller sets none: a choice of ours. */
const assumedOutputTokens = 32_000;

/**
 * `reasoning` as the upstream knows it: levels of effort only, without `enabled` and `max_tokens`.
 *
 * @param updated the effort of the last `configuration_update` item, which outweighs the request's
 * @param known the levels of the upstream, at least one
 * @returns undefined when nothing is left to say
 */
export function writeReasoning(
  setting: ReasoningSetting,
  updated: ReasoningEffort | undefined,
  maxOutputTokens: number | undefined | null,
  known: readonly ReasoningEffort[],
): Record<string, unknown> | undefined {
  const { enabled: _enabled, max_tokens: _budget, effort: _effort, context, ...rest } = setting; // fields we do not know stay
  const written: Record<string, unknown> = rest;
  const effort = updated ? nearest(updated, known) : readEffort(setting, maxOutputTokens || assumedOutputTokens, known);
  if (effort !== undefined) written.effort = effort;
  if (context && context !== 'auto') written.context = context; // `auto` and absent are the same
  for (const key in written) if (written[key] !== null && written[key] !== undefined) return written;
  return undefined;
}

/** Off is off, whatever else is said; then the level, then the budget, then the bare wish. */
function readEffort(
  { enabled, effort, max_tokens: budget }: ReasoningSetting,
  outputTokens: number,
  known: readonly ReasoningEffort[],
): ReasoningEffort | undefined {
  if (enabled === false) return nearest('none', known);
  if (effort) return nearest(effort, known);
  if (typeof budget === 'number') return nearestShare(budget / outputTokens, known);
  return enabled ? nearest('medium', known) : undefined;
}

/** By rank; of two levels as near as each other the lower one. */
function nearest(effort: ReasoningEffort, known: readonly ReasoningEffort[]): ReasoningEffort {
  if (known.includes(effort)) return effort;
  const rank = ranks.indexOf(effort);
  return pick(known, (level) => Math.abs(ranks.indexOf(level) - rank));
}

/** `none` is no budget at all, so a small one still reasons; `max` has the share of `xhigh` and is never meant. */
function nearestShare(share: number, known: readonly ReasoningEffort[]): ReasoningEffort {
  if (share <= 0) return nearest('none', known);
  const levels = known.filter((level) => level !== 'none');
  return pick(levels.length > 0 ? levels : known, (level) => Math.abs(shares[level] - share));
}

function pick(levels: readonly ReasoningEffort[], distance: (level: ReasoningEffort) => number): ReasoningEffort {
  const ordered = [...levels].sort((a, b) => ranks.indexOf(a) - ranks.indexOf(b));
  return ordered.reduce((best, level) => (distance(level) < distance(best) ? level : best));
}
