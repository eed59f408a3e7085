import type { ReasoningSetting } from '../../domain/request.ts';
import type { TranslatedBody } from '../responses/request.ts';
import type { ChatSettings } from './schema.ts';

/** Fields with the same name and meaning in `POST /responses`. */
const sharedFields = [
  ...(['cache_control', 'debug', 'frequency_penalty', 'image_config', 'max_tool_calls', 'metadata'] as const),
  ...(['model', 'models', 'plugins', 'presence_penalty', 'preset', 'prompt_cache_key'] as const),
  ...(['prompt_cache_options', 'provider', 'route', 'safety_identifier', 'service_tier', 'session_id'] as const),
  ...(['stop_server_tools_when', 'stream', 'temperature', 'top_k', 'top_p', 'trace', 'user'] as const),
  // Fields that only other APIs have.
  ...(['logit_bias', 'min_p', 'prompt_cache_retention', 'repetition_penalty', 'seed', 'top_a'] as const),
] as const;

const compression = 'context-compression';

/** Translates the settings that all bodies of this format have. `null` means absent. */
export function readChatSettings(body: ChatSettings, translated: TranslatedBody): void {
  const target = translated as Record<string, unknown>;
  for (const field of sharedFields) {
    const value = body[field];
    if (value !== undefined && value !== null) target[field] = value;
  }
  if (body.service_tier === null) target['service_tier'] = null;
  if (body.max_tokens) translated.max_output_tokens = body.max_tokens;
  if (body.stop?.length) translated.stop = typeof body.stop === 'string' ? [body.stop] : body.stop;
  readText(body, translated);
  const reasoning = readReasoning(body);
  if (reasoning) translated.reasoning = reasoning;
  if (body.transforms && !body.plugins?.some(({ id }) => id === compression)) {
    translated.plugins = [...(body.plugins ?? []), { id: compression, enabled: body.transforms.length > 0 }];
  }
}

function readText({ response_format: format, verbosity }: ChatSettings, translated: TranslatedBody): void {
  if (!format && !verbosity) return;
  translated.text = {};
  if (verbosity) translated.text.verbosity = verbosity;
  if (!format) return;
  if (format.type !== 'json_schema') {
    translated.text.format = format;
    return;
  }
  const { name, description, schema, strict } = format.json_schema;
  translated.text.format = { type: 'json_schema', name, schema: schema ?? {} };
  if (description) translated.text.format.description = description;
  if (strict !== undefined) translated.text.format.strict = strict;
}

/** `reasoning.effort` is more exact than the older `reasoning_effort`. */
function readReasoning(body: ChatSettings): ReasoningSetting | undefined {
  const { reasoning, reasoning_effort: effort, include_reasoning: included } = body;
  const setting: ReasoningSetting = {};
  const given = reasoning?.effort ?? effort;
  if (given) setting.effort = given;
  if (typeof reasoning?.max_tokens === 'number') setting.max_tokens = reasoning.max_tokens;
  if (typeof reasoning?.enabled === 'boolean') setting.enabled = reasoning.enabled;
  if (reasoning?.summary) setting.summary = reasoning.summary;
  if (included === true && Object.keys(setting).length === 0) setting.enabled = true;
  return Object.keys(setting).length > 0 ? setting : undefined;
}

/** Whether the response leaves reasoning out. The model still reasons. */
export const hidesReasoning = ({ reasoning, include_reasoning: included }: ChatSettings): boolean =>
  reasoning?.exclude === true || (included === false && reasoning?.exclude !== false);
