import { createAvailability, GatewayError, type Issue, invalidRequest } from '../../domain/errors.ts';
import type { PresetTable, UsedPreset } from '../../domain/preset.ts';
import { isObject } from '../../schema/by-kind.ts';

/** `@preset/slug`, or `author/slug@preset/slug`. */
const reference = /^(.*?)@preset\/(.*)$/is;

/**
 * Merges the preset that a body names into it. Every field of the body replaces the field of the preset, unless it is
 * null; `tools` are united. Changes the body in place.
 *
 * @param presets of the caller's workspace; undefined: it has none
 * @returns undefined if the body names no preset
 * @throws {GatewayError} `model_not_found` or `invalid_request` if the preset cannot be used
 * @see docs/reference/presets.md#use
 */
export function mergePreset(body: Record<string, unknown>, presets: PresetTable | undefined): UsedPreset | undefined {
  const named = takeReference(body);
  if (!named) return undefined;
  const preset = presets?.get(named.slug.toLowerCase());
  if (!preset) throw presetNotFound(named);
  if (preset.status !== 'active') {
    throw invalidRequest([issueOf(named.path, `names the preset ${preset.slug}, which is ${preset.status}.`)]);
  }
  const fields = JSON.parse(preset.fields) as Record<string, unknown>;
  for (const [field, value] of Object.entries(fields)) {
    if (isAbsent(body[field])) body[field] = value;
    else if (field === 'tools') body[field] = uniteTools(value, body[field]);
  }
  const { slug, version } = preset;
  return named.path === 'model' ? { slug, version, requested: named.given } : { slug, version };
}

/** Null means absent. @see docs/reference/http.md#null */
const isAbsent = (value: unknown): boolean => value === undefined || value === null;

interface Reference {
  path: 'model' | 'preset';
  slug: string;
  /** The whole value. */
  given: string;
}

/** Removes the reference from the body. @throws {GatewayError} `invalid_request` if it names two presets */
function takeReference(body: Record<string, unknown>): Reference | undefined {
  const { model, models, preset } = body;
  const issues: Issue[] = [];
  if (Array.isArray(models)) {
    for (const [index, slug] of models.entries()) {
      if (typeof slug !== 'string' || !reference.test(slug)) continue;
      issues.push(issueOf(`models[${index}]`, 'names a preset; name one in `model` or `preset`, and models here.'));
    }
  }
  const match = typeof model === 'string' ? reference.exec(model) : null;
  const isNamed = typeof preset === 'string';
  if (match && isNamed && match[2]!.toLowerCase() !== preset.toLowerCase()) {
    issues.push(issueOf('preset', 'and `model` name two presets; name one.'));
  }
  if (issues.length > 0) throw invalidRequest(issues);
  if (isNamed) delete body['preset']; // any other value is rejected later
  if (match) {
    const [, base, slug] = match;
    if (base === '') delete body['model'];
    else body['model'] = base;
    return { path: 'model', slug: slug!, given: model as string };
  }
  return isNamed ? { path: 'preset', slug: preset, given: preset } : undefined;
}

const issueOf = (path: string, says: string): Issue => ({ path, message: `\`${path}\` ${says}` });

function presetNotFound({ path, slug, given }: Reference): GatewayError {
  const shown = JSON.stringify(slug.slice(0, 100));
  if (path === 'preset') {
    return invalidRequest([issueOf('preset', `names no preset of this workspace: ${shown}. GET /presets lists them.`)]);
  }
  const message = `${given.slice(0, 200)} is not a valid model ID: this workspace has no preset ${shown}. GET /presets lists them.`;
  return new GatewayError('model_not_found', message, { availability: createAvailability('model_not_found', [given]) });
}

/**
 * Unites the tools of a preset with those of a request. A tool of the request replaces the same tool of the preset in
 * its place; the others follow.
 *
 * @returns the tools of the request unchanged if one of the two is no list, so that the check of the body reports it
 */
function uniteTools(saved: unknown, own: unknown): unknown {
  if (!Array.isArray(saved) || !Array.isArray(own)) return own;
  const united: unknown[] = [...saved];
  const places = new Map(saved.map((tool, at) => [identify(tool), at]));
  for (const tool of own) {
    const identity = identify(tool);
    const at = places.get(identity);
    if (at === undefined) united.push(tool);
    else {
      united[at] = tool;
      places.delete(identity); // a second tool of the request with this identity is another one
    }
  }
  return united;
}

/** Returns the identity of a tool: its type, and its name if several tools of the type may exist. choice 416 */
function identify(tool: unknown): string {
  if (!isObject(tool)) return JSON.stringify(tool);
  const { type, name, parameters, server_label: label } = tool;
  switch (type) {
    case 'function':
    case 'custom':
    case 'namespace':
      return `${type} ${String(name)}`;
    case 'router:advisor':
    case 'router:subagent':
      return `${type} ${isObject(parameters) ? String(parameters['name']) : ''}`;
    case 'mcp':
      return `${type} ${String(label)}`;
    default:
      return String(type);
  }
}

/** Whether a body may name a preset. Cheap, because every request is checked. */
export function mayNamePreset(body: Record<string, unknown>): boolean {
  const { model, models } = body;
  if (!isAbsent(body['preset'])) return true;
  if (typeof model === 'string' && model.includes('@')) return true;
  return Array.isArray(models) && models.some((slug) => typeof slug === 'string' && slug.includes('@'));
}
