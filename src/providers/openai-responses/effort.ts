import { findEffort, isEffort, type ReasoningEffort } from '../../domain/items.ts';
import type { Word } from '../../domain/word.ts';
import type { ReasoningSetting } from '../../domain/request.ts';
import { noteEffort, planEffort } from '../kit/effort.ts';

/**
 * Writes `reasoning` in the upstream's terms: levels of effort only, without `enabled` and `max_tokens`.
 *
 * @param updated the effort of the last `configuration_update` item, which takes precedence over the request's
 * @param known the levels of the upstream, at least one
 * @param dropped receives the settings that were changed
 * @returns undefined if there is nothing to send
 */
export function writeReasoning(
  setting: ReasoningSetting,
  updated: Word<ReasoningEffort> | undefined,
  maxOutputTokens: number | undefined | null,
  known: readonly ReasoningEffort[],
  dropped: string[],
): Record<string, unknown> | undefined {
  const { enabled: _enabled, max_tokens: _budget, effort: _effort, context, ...rest } = setting; // unknown fields stay
  const written: Record<string, unknown> = rest;
  const asked = updated ?? (setting.enabled === false ? undefined : setting.effort);
  const isNew = asked !== undefined && asked !== null && !isEffort(asked); // newer than the gateway
  const effort = isNew ? asked : planEffort(setting, findEffort(updated), maxOutputTokens, known);
  if (effort !== undefined) written.effort = effort;
  noteEffort(dropped, setting, updated, effort);
  if (context && context !== 'auto') written.context = context; // `auto` equals absent
  for (const key in written) if (written[key] !== null && written[key] !== undefined) return written;
  return undefined;
}
