import { efforts, findEffort, type ReasoningEffort } from '../../domain/items.ts';
import type { ModelRow } from '../../routing/model-rows.ts';
import { supports } from '../../routing/needs.ts';
import { codexInstructions } from './codex-instructions.ts';

/** Short descriptions of efforts, which Codex shows beside them. */
const effortTexts: Readonly<Record<ReasoningEffort, string>> = {
  none: 'No reasoning',
  minimal: 'Almost no reasoning',
  low: 'Fast, with little reasoning',
  medium: 'Balances speed and depth',
  high: 'More depth for complex tasks',
  xhigh: 'Much more depth',
  max: 'The greatest depth',
};

/** The efforts of a model that reasons, if the catalog does not list them. */
const usualEfforts: readonly ReasoningEffort[] = ['low', 'medium', 'high'];

/** The first version known to read the effort `max`. Older ones reject the whole list. Source: openai/codex-plugin-cc#648 */
const MAX_EFFORT_SINCE = [0, 147];

/**
 * Writes the models for Codex, which reads them from `models`. It rejects the list if a model lacks one of its fields.
 * It offers them in the order of `priority`, and the models of its vendor begin at 1.
 *
 * @param rows in the order of the list
 * @param version of Codex: `0.169.0`
 * @see docs/reference/models.md#codex
 */
export function writeCodexModels(rows: readonly ModelRow[], version: string): Record<string, unknown>[] {
  const known = readsMax(version) ? efforts : efforts.filter((effort) => effort !== 'max');
  const usable = rows.filter(canRunAgent);
  return usable.map((row, index) => writeCodexModel(row, index - usable.length, known));
}

/** Whether a model writes text and may call tools. It is unknown for some models. */
const canRunAgent = ({ output, parameters, endpoints }: ModelRow): boolean =>
  output.includes('text') &&
  (parameters.includes('tools') ||
    (parameters.length === 0 && endpoints.every((endpoint) => supports(endpoint, 'tools') !== false)));

function readsMax(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [firstMajor = 0, firstMinor = 0] = MAX_EFFORT_SINCE;
  return major > firstMajor || (major === firstMajor && minor >= firstMinor);
}

function writeCodexModel(
  { model, contextLength, parameters, input }: ModelRow,
  priority: number,
  known: readonly ReasoningEffort[],
): Record<string, unknown> {
  const reasons = parameters.includes('reasoning') || model.reasoning !== undefined;
  const supported: readonly string[] = model.reasoning?.supported_efforts ?? usualEfforts;
  const levels = reasons ? known.filter((effort) => supported.includes(effort)) : [];
  const usual = findEffort(model.reasoning?.default_effort) ?? 'medium';
  return {
    slug: model.id,
    display_name: model.name,
    description: model.description ?? null,
    default_reasoning_level: levels.includes(usual) ? usual : (levels[0] ?? null),
    supported_reasoning_levels: levels.map((effort) => ({ effort, description: effortTexts[effort] })),
    supports_reasoning_summaries: reasons,
    support_verbosity: parameters.includes('verbosity'),
    default_verbosity: null,
    supports_parallel_tool_calls: parameters.includes('parallel_tool_calls'),
    input_modalities: ['text', ...(input.includes('image') ? ['image'] : [])], // Codex knows no others
    context_window: contextLength ?? null,
    max_context_window: contextLength ?? null,
    auto_compact_token_limit: null,
    truncation_policy: { mode: 'tokens', limit: 10_000 },
    base_instructions: codexInstructions,
    shell_type: 'shell_command',
    apply_patch_tool_type: null,
    experimental_supported_tools: [],
    visibility: 'list',
    supported_in_api: true,
    priority,
    upgrade: null,
  };
}
