import { efforts, findEffort, type ReasoningEffort } from '../../domain/items.ts';
import type { ReasoningSetting } from '../../domain/request.ts';

/** Shares of the output limit. @see docs/reference/responses.md#reasoning */
const shares: Record<ReasoningEffort, number> = {
  none: 0,
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.95,
  max: 0.95,
};

/** Returns the share of the output limit that an effort may spend on reasoning. */
export const effortShare = (effort: ReasoningEffort): number => shares[effort];

/** The output limit for computing an effort from a budget if the request sets no limit: choice 69. */
const assumedOutputTokens = 32_000;

/**
 * Returns the requested effort as a level that the server knows. An unknown effort counts as none: only the native wire
 * sends it.
 *
 * @param update effort of the last `configuration_update`, which takes precedence
 * @param known at least one level
 * @returns undefined if the request leaves it to the server
 */
export function planEffort(
  reasoning: ReasoningSetting | null | undefined,
  update: ReasoningEffort | undefined,
  maxOutputTokens: number | null | undefined,
  known: readonly ReasoningEffort[],
): ReasoningEffort | undefined {
  if (update !== undefined) return nearestEffort(update, known);
  if (!reasoning) return undefined;
  if (reasoning.enabled === false) return nearestEffort('none', known);
  const asked = findEffort(reasoning.effort);
  if (asked) return nearestEffort(asked, known);
  if (typeof reasoning.max_tokens === 'number') {
    return nearestShare(reasoning.max_tokens / (maxOutputTokens || assumedOutputTokens), known);
  }
  return reasoning.enabled === true ? nearestEffort('medium', known) : undefined;
}

/** Adds the settings that an effort cannot express to `dropped`: another effort, and a budget. */
export function noteEffort(
  dropped: string[],
  reasoning: ReasoningSetting | null | undefined,
  update: string | undefined,
  sent: string | undefined,
): void {
  const asked = update ?? (reasoning?.enabled === false ? 'none' : reasoning?.effort);
  if (asked && asked !== sent) dropped.push(`reasoning.effort (${asked} → ${sent})`);
  if (update !== undefined || typeof reasoning?.max_tokens !== 'number') return;
  dropped.push(asked ? 'reasoning.max_tokens' : `reasoning.max_tokens (→ effort ${sent})`);
}

/**
 * Adds the settings of a reasoning that is on to `dropped` if the server can only turn it on and off.
 *
 * @param sent `on`, or the only effort of the server
 */
export function noteSwitch(
  dropped: string[],
  reasoning: ReasoningSetting | null | undefined,
  update: string | undefined,
  sent: string,
): void {
  const asked = update ?? reasoning?.effort;
  if (asked && asked !== sent) dropped.push(`reasoning.effort (${asked} → ${sent})`);
  if (update !== undefined || typeof reasoning?.max_tokens !== 'number') return;
  dropped.push(asked ? 'reasoning.max_tokens' : `reasoning.max_tokens (→ ${sent})`);
}

/** Returns the nearest known level by rank. A tie goes to the lower level. */
export function nearestEffort(effort: ReasoningEffort, known: readonly ReasoningEffort[]): ReasoningEffort {
  if (known.includes(effort)) return effort;
  const rank = efforts.indexOf(effort);
  return pick(known, (level) => Math.abs(efforts.indexOf(level) - rank));
}

/**
 * Returns the level with the nearest share. `none` means no budget, so a small budget still reasons. `max` has the
 * share of `xhigh` and is never chosen if `xhigh` is known.
 */
function nearestShare(share: number, known: readonly ReasoningEffort[]): ReasoningEffort {
  if (share <= 0) return nearestEffort('none', known);
  const levels = known.filter((level) => level !== 'none');
  return pick(levels.length > 0 ? levels : known, (level) => Math.abs(shares[level] - share));
}

function pick(levels: readonly ReasoningEffort[], distance: (level: ReasoningEffort) => number): ReasoningEffort {
  const ordered = [...levels].sort((a, b) => efforts.indexOf(a) - efforts.indexOf(b));
  return ordered.reduce((best, level) => (distance(level) < distance(best) ? level : best));
}
