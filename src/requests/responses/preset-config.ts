import { GatewayError, type Issue } from '../../domain/errors.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import { dropNulls } from '../../schema/drop-nulls.ts';
import type { ModulePlugins } from '../module-plugins.ts';
import { checkRequest } from './check-request.ts';
import { knownRequestFields, requestSchema } from './schema.ts';
import { rejectUnsupportedFeatures } from './unsupported-features.ts';

/** Fields of a request that belong to one conversation or one caller, so that a preset cannot have them. */
const conversationFields: ReadonlySet<string> = new Set([
  'input',
  'preset',
  'previous_response_id',
  'stream',
  'background',
  'store',
  'debug',
  'metadata',
  'trace',
  'user',
  'safety_identifier',
  'session_id',
  'prompt_cache_key',
]);

/** The fields of a request that a preset may have. `instructions` is its `system_prompt`. */
export const presetFields: readonly string[] = [...knownRequestFields].filter(
  (field) => !conversationFields.has(field) && field !== 'instructions',
);

/** Maximum bytes of the fields of a preset as JSON. */
export const MAX_PRESET_BYTES = 256 * 1024;

/** Model of the request with which a preset without a model is checked. */
const ANY_MODEL = 'any/model';

/**
 * Checks the fields of a preset with the rules of requests, except for those that need the conversation. Removes nulls,
 * which stand for absent fields.
 *
 * @param modules the operator's plugins
 * @returns the problems; paths are relative to the config
 */
export function checkPresetConfig(config: Record<string, unknown>, modules?: ModulePlugins): Issue[] {
  dropNulls(requestSchema, config);
  const issues: Issue[] = [];
  for (const field of Object.keys(config)) {
    if (presetFields.includes(field)) continue;
    issues.push({ path: field, message: explainField(field) });
  }
  for (const [path, slug] of listSlugs(config)) {
    if (!slug.includes('@')) continue;
    issues.push({
      path,
      message: `\`${path}\` names a preset (${JSON.stringify(slug.slice(0, 100))}). A preset must name models.`,
    });
  }
  const bytes = Buffer.byteLength(JSON.stringify(config));
  if (bytes > MAX_PRESET_BYTES) {
    issues.push({ path: '', message: `The preset has ${bytes} bytes; at most ${MAX_PRESET_BYTES} are allowed.` });
  }
  if (issues.length > 0) return issues;
  const hasModel = config['model'] !== undefined || config['models'] !== undefined;
  const request = { ...(hasModel ? {} : { model: ANY_MODEL }), ...config, input: 'x' };
  const found = checkRequest(request, modules);
  return found.length > 0 ? found : findUnsupported({ ...request, input: [] } as ResponseRequest);
}

function explainField(field: string): string {
  if (field === 'instructions') return 'A preset has `system_prompt` instead of `instructions`.';
  if (conversationFields.has(field)) return `\`${field}\` belongs to a conversation; send it with each request.`;
  return `\`${field}\` is not known here; a preset has the fields of a request.`;
}

function listSlugs({ model, models }: Record<string, unknown>): [path: string, slug: string][] {
  const named: [string, unknown][] = [['model', model]];
  if (Array.isArray(models)) for (const [index, slug] of models.entries()) named.push([`models[${index}]`, slug]);
  return named.filter((entry): entry is [string, string] => typeof entry[1] === 'string');
}

function findUnsupported(request: ResponseRequest): Issue[] {
  try {
    rejectUnsupportedFeatures(request);
    return [];
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return error.metadata['issues'] as Issue[];
  }
}

/**
 * Reads the fields of a preset from a request. Omits the fields of the conversation.
 *
 * @returns unknown fields as well, by name
 */
export function readPresetConfig(body: Record<string, unknown>): {
  config: Record<string, unknown>;
  systemPrompt: unknown;
  unknown: string[];
} {
  const config: Record<string, unknown> = {};
  const unknown: string[] = [];
  for (const [field, value] of Object.entries(body)) {
    if (presetFields.includes(field)) config[field] = value;
    else if (!knownRequestFields.has(field)) unknown.push(field);
  }
  return { config, systemPrompt: body['instructions'] ?? null, unknown };
}
