import { MAX_TOOL_CALLS } from '../../domain/max-tool-calls.ts';
import { invalidRequest } from '../../domain/errors.ts';
import type { InputItem } from '../../domain/items.ts';
import type { OtherSettings, ResponseRequest } from '../../domain/request.ts';
import { mayUsePlugin, type Reach, refuseUse } from '../../domain/reach.ts';
import type { UsedPreset } from '../../domain/preset.ts';
import type { SavedPlugin } from '../../domain/request-defaults.ts';
import { isObject } from '../../schema/by-kind.ts';
import { dropNulls } from '../../schema/drop-nulls.ts';
import { Report } from '../../schema/report.ts';
import { IgnoredFields } from '../ignored-fields.ts';
import type { ModulePlugins } from '../module-plugins.ts';
import type { RequestHints } from '../request-hints.ts';
import { checkSessionId, findSessionOfUser } from '../session-header.ts';
import { checkKnown } from './check-known.ts';
import { lacksModel } from './check-conversation.ts';
import { mayNamePreset, mergePreset } from './merge-preset.ts';
import { addSavedPlugins } from './saved-plugins.ts';
import { isModuleSetting } from './check-plugins.ts';
import { checkRequest, checkRules } from './check-request.ts';
import { readFusion } from './fusion.ts';
import { withoutLateTools } from './late-tools.ts';
import { openReasonings } from './open-reasoning.ts';
import { openSummaries } from './open-summaries.ts';
import { readOnline } from './online.ts';
import { pluginFields } from './schema/plugins.ts';
import { knownRequestFields, type RequestBody, requestSchema } from './schema.ts';
import { settleChatShapes } from './settle-chat-shapes.ts';

/** A request in the shape that every stage after the edge reads, with the changes that were necessary. */
export interface ParsedRequest {
  request: ResponseRequest;
  /** Unknown fields of the body and of its plugins, for `params.ignored_fields`. */
  ignoredFields: string[];
  /** A sentence for each value that was lowered to its limit (docs/reference/responses.md#request-body). */
  clamped: string[];
  /** Whether the model is `defaultModel` of the hints. */
  hasDefaultModel: boolean;
  /** The preset that was merged into the request. Undefined: it names none. */
  preset: UsedPreset | undefined;
  /** Ids of the plugins that settings of the workspace turned on or changed. Undefined: none. */
  pluginDefaults: readonly string[] | undefined;
  /** Whether tools were moved from the input to `tools`. Its bytes still contain them. */
  hasLateTools: boolean;
}

/**
 * Checks a `POST /responses` body and normalizes fields that have several forms: header or field, string or list, alias
 * or name. Changes the body in place and returns the same object.
 *
 * @throws {GatewayError} `invalid_request`, with every problem in `metadata.issues`; `model_not_found` for an unknown
 *   preset
 * @see docs/reference/responses.md#request-body
 */
export function readRequest(body: unknown, hints: RequestHints): ParsedRequest {
  settleChatShapes(body);
  const named = isObject(body) ? nameModel(body, hints) : noModel;
  const issues = [...checkRequest(body, hints.modules), ...checkSessionId(hints.sessionId)];
  if (issues.length > 0) throw invalidRequest(issues);
  const checked = body as RequestBody; // checkRequest found no issue

  const ignored = new IgnoredFields();
  ignoreUnknown(checked, knownRequestFields, '', ignored);
  if (hints.reach) checkKnown(checked, false);
  return { ...settleRequest(checked, ignored, hints), ...named };
}

/**
 * Normalizes a body that another API has checked and translated into the fields of `POST /responses`. Changes it in
 * place.
 *
 * @param ignored the unknown fields of the body so far
 * @throws {GatewayError} as `readRequest`; the paths are those of `POST /responses`
 */
export function readTranslated(body: TranslatedBody, ignored: IgnoredFields, hints: RequestHints): ParsedRequest {
  const named = nameModel(body as Record<string, unknown>, hints);
  const report = new Report();
  if (named.preset) report.issues.push(...checkRequest(body, hints.modules));
  else checkRules(body as Record<string, unknown>, hints.modules, report);
  const issues = [...report.issues, ...checkSessionId(hints.sessionId)];
  if (issues.length > 0) throw invalidRequest(issues);
  if (hints.reach) checkKnown(body, true);
  return { ...settleRequest(body, ignored, hints), ...named };
}

/** A body in the fields of `POST /responses`, and in those that only other APIs have. */
export type TranslatedBody = RequestBody & OtherSettings;

/** The sources of the model of a request, other than its own field. */
type NamedModel = Pick<ParsedRequest, 'hasDefaultModel' | 'preset'>;

const noModel: NamedModel = { hasDefaultModel: false, preset: undefined };

/** Merges the preset that a body names, and sets the default model of one that names none. */
function nameModel(body: Record<string, unknown>, { presets, defaultModel }: RequestHints): NamedModel {
  const preset = mayNamePreset(body) ? mergePreset(body, presets) : undefined;
  const hasDefaultModel = defaultModel !== undefined && lacksModel(body);
  if (hasDefaultModel) body['model'] = defaultModel;
  return { hasDefaultModel, preset };
}

function settleRequest(
  checked: RequestBody,
  ignored: IgnoredFields,
  { sessionId, savedPlugins, modules, maxSteps, openSummary, reach }: RequestHints,
): Omit<ParsedRequest, keyof NamedModel> {
  dropUnknownSettings(checked, ignored, modules);
  settleRoute(checked, ignored);
  const { user, safety_identifier: endUser } = checked;
  if (user && endUser && user !== endUser) ignored.add('', 'user'); // the newer field wins
  if (checked.background) ignored.add('', 'background'); // nothing is stored, so the response runs in the foreground
  if (checked.session_id === undefined) {
    const session = sessionId || findSessionOfUser(checked.user);
    if (session) checked.session_id = session;
  }
  if (checked.service_tier === 'fast') checked.service_tier = 'priority';
  settleTruncation(checked);
  const clamped = checked.stop_server_tools_when ? clampSteps(checked, maxSteps) : clampToolCalls(checked);
  const request = checked as ResponseRequest; // the input and the tier are normalized here
  request.input = openReasonings(readInput(checked.input) as InputItem[]); // checked, with a type in each item
  if (openSummary) request.input = openSummaries(request.input, openSummary);
  readOnline(request);
  readFusion(request);
  if (reach) rejectModules(request, reach);
  const saved = reach ? savedPlugins?.filter(({ id }) => mayUsePlugin(reach, id)) : savedPlugins;
  const pluginDefaults = saved && saveInto(request, saved);
  if (saved) readFusion(request);
  return { request, ignoredFields: ignored.list(), clamped, pluginDefaults, hasLateTools: false };
}

/**
 * Rejects the operator's plugins that an intern names: they may open what it says. Those that its workspace saves work.
 *
 * @throws {GatewayError} `permission_denied`
 */
function rejectModules({ plugins = [] }: ResponseRequest, reach: Reach): void {
  for (const [index, setting] of plugins.entries()) {
    if (isModuleSetting(setting) && !reach.mayUse(setting.id)) throw refuseUse(`plugins[${index}].id`, setting.id);
  }
}

/** Adds the saved plugins. @returns the ids of those that apply; undefined: none */
function saveInto(request: ResponseRequest, saved: readonly SavedPlugin[]): string[] | undefined {
  const { plugins, applied } = addSavedPlugins(request.plugins ?? [], saved);
  request.plugins = plugins;
  return applied.length > 0 ? applied : undefined;
}

/**
 * `truncation` is the switch of a plugin. An entry of `plugins` is more exact, so it takes precedence.
 *
 * @see docs/reference/plugins.md#context-compression
 */
function settleTruncation(body: RequestBody): void {
  const { truncation, plugins = [] } = body;
  if (truncation === undefined || truncation === null) return;
  if (plugins.some(({ id }) => id === compression)) return;
  body.plugins = [...plugins, { id: compression, enabled: truncation === 'auto' }];
}

const compression = 'context-compression';

/**
 * Reads the input of a body that `readRequest` has accepted again.
 *
 * @param body parsed again
 */
export function readInputAgain(
  body: unknown,
  { hasLateTools, openSummary }: Pick<ParsedRequest, 'hasLateTools'> & Pick<RequestHints, 'openSummary'>,
): InputItem[] {
  settleChatShapes(body);
  dropNulls(requestSchema, body);
  const { input } = body as RequestBody; // readRequest has checked it
  const items = openReasonings(readInput(input) as InputItem[]); // readRequest has checked it
  const opened = openSummary ? openSummaries(items, openSummary) : items;
  return hasLateTools ? withoutLateTools(opened) : opened;
}

function dropUnknownSettings(body: RequestBody, ignored: IgnoredFields, modules: ModulePlugins | undefined): void {
  for (const [index, setting] of body.plugins?.entries() ?? []) {
    const known = pluginFields.get(setting.id) ?? modules?.get(setting.id)?.fields;
    if (known) ignoreUnknown(setting, known, `plugins[${index}]`, ignored);
  }
}

/** Removes the fields that are not known. */
export function ignoreUnknown(object: object, known: ReadonlySet<string>, path: string, ignored: IgnoredFields) {
  for (const field of Object.keys(object)) {
    if (known.has(field)) continue;
    ignored.add(path, field);
    Reflect.deleteProperty(object, field);
  }
}

/** Normalizes the input. A string is one user message; an item with a role and no type is a message. */
function readInput(input: RequestBody['input']): NonNullable<RequestBody['input']> {
  if (input === undefined) return [];
  if (typeof input === 'string') return input === '' ? [] : [{ type: 'message', role: 'user', content: input }];
  for (const item of input) if (item.type === undefined) (item as { type?: string }).type = 'message';
  return input;
}

function clampToolCalls(body: RequestBody): string[] {
  const requested = body.max_tool_calls;
  if (typeof requested !== 'number' || requested <= MAX_TOOL_CALLS) return [];
  body.max_tool_calls = MAX_TOOL_CALLS;
  return [writeClamp('max_tool_calls', requested, MAX_TOOL_CALLS)];
}

/** Lowers the step counts of conditions to the maximum of the operator. `max_tool_calls` is ignored. */
function clampSteps({ stop_server_tools_when: given }: RequestBody, maxSteps = Number.POSITIVE_INFINITY): string[] {
  const isList = Array.isArray(given);
  return [given ?? []].flat().flatMap((condition, index) => {
    if (condition.type !== 'step_count_is' || condition.step_count <= maxSteps) return [];
    const requested = condition.step_count;
    condition.step_count = maxSteps;
    return [writeClamp(`stop_server_tools_when${isList ? `[${index}]` : ''}.step_count`, requested, maxSteps)];
  });
}

const writeClamp = (path: string, requested: number, maximum: number): string =>
  `${path}: ${requested} is above the maximum and was lowered to ${maximum}.`;

/**
 * Converts the deprecated `route` to `provider.sort.partition`: `fallback` to `model`, which is the default, and `sort`
 * to `none`. The newer field wins, and other values are ignored (docs/reference/responses.md#request-body).
 */
function settleRoute(body: RequestBody, ignored: IgnoredFields): void {
  const { route } = body;
  if (route === undefined) return;
  delete body.route;
  if (route === null || route === 'fallback') return;
  if (route !== 'sort') {
    ignored.add('', 'route');
    return;
  }
  const given = body.provider?.sort;
  const sort = isObject(given) ? given : { by: given ?? undefined };
  body.provider = { ...body.provider, sort: { ...sort, partition: sort.partition ?? 'none' } };
}
