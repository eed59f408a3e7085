import type { TSchema } from 'typebox';
import { resourceRoutes } from '../../src/api/resource-routes.ts';
import type { DefinedRoute } from '../../src/http/define-route.ts';
import { type Operation, tags } from '../../src/http/operation.ts';
import type { ResourceCommand, ResourceOption, ResourceParam } from '../../src/cli/resources/definition.ts';
import {
  fieldHelp,
  fieldLists,
  flagNames,
  groupHelp,
  otherRoutes,
  type Shorthand,
  type Spelling,
  spellings,
} from './spellings.ts';

/** A route that a command calls, with the name of its parts. */
interface Found {
  api: string;
  route: DefinedRoute<never>;
  operation: Operation;
}

/** The keywords of schemas that options are made of. */
interface Keywords {
  type?: string;
  enum?: readonly string[];
  const?: unknown;
  anyOf?: readonly Keywords[];
  items?: Keywords;
  properties?: Record<string, Keywords>;
  required?: readonly string[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  pattern?: string;
  format?: string;
}

const base = '/api/v1/';
/** A body with more fields has no options: it is the body of a request for a model. */
const MAX_OPTIONS = 30;
/** A longer text can be read from the standard input. */
const MAX_LINE = 10_000;
const DEFAULT_COLUMNS = 6;
/** A higher maximum is of no interest. */
const MAX_SHOWN = 1e9;
/** Options of all commands, which a field must not have. */
const reserved = ['body', 'config', 'data', 'json', 'workspace', 'help'];
const pagingParams = ['offset', 'cursor', 'starting_after', 'after', 'after_id', 'limit'];
const verbs: Record<string, string> = { GET: 'show', POST: 'create', PUT: 'set', PATCH: 'update', DELETE: 'delete' };
/** Parameters of paths that are options, because an argument may be absent. */
const paramFlags: Record<string, string> = { internId: '--intern <intern>' };

/** Derives the commands of resources from their routes, and the descriptions of their groups from the tags. */
export function deriveCommands(resources: Readonly<Record<string, readonly DefinedRoute<never>[]>> = resourceRoutes): {
  groups: Record<string, string>;
  commands: ResourceCommand[];
} {
  const found = Object.entries(resources).flatMap(([api, routes]) =>
    routes.flatMap((route): Found[] => {
      const { operation } = route;
      return operation && !otherRoutes.includes(operation.id) ? [{ api, route, operation }] : [];
    }),
  );
  const lists = Object.values(resources).flat();
  const commands = found.flatMap((one) => {
    const spelling = spellings[one.operation.id] ?? {};
    return [spelling].flat().map((each) => derive(one, each, lists));
  });
  const named = commands.map((command) => ({ ...command, name: shorten(command.name, commands) }));
  const groups = found.flatMap(({ operation: { id, tag } }) => {
    const { name, summary } = named.find((command) => command.id === id)!;
    const words = name.split(' ');
    const about = words.length === 1 ? summary : decapitalize(tags[tag].replace(/\.$/, ''));
    return words
      .slice(0, Math.max(1, words.length - 1))
      .map((word, at): [string, string] => [
        words.slice(0, at + 1).join(' '),
        at === 0 ? (groupHelp[word] ?? about) : `${word} of ${words[at - 1]}`,
      ]);
  });
  return { groups: Object.fromEntries(groups), commands: named };
}

/** A group that only lists needs no verb: `guardrails budgets list` → `guardrails budgets`. */
function shorten(name: string, commands: readonly ResourceCommand[]): string {
  if (!name.endsWith(' list')) return name;
  const group = name.slice(0, -' list'.length);
  return commands.every((other) => other.name === name || !other.name.startsWith(`${group} `)) ? group : name;
}

function derive({ api, route, operation }: Found, spelling: Spelling, routes: readonly DefinedRoute<never>[]) {
  const { id, body, response } = operation;
  const name = spelling.name ?? nameCommand(route, operation, routes);
  const isScoped = route.permission !== 'management' && !spelling.seesAll;
  const result = (response.schema ?? {}) as Keywords;
  const rows = result.properties?.['data'];
  const isList = rows?.type === 'array' && route.method === 'GET';
  const fields = (body?.schema ?? {}) as Keywords;
  const hasFields = fields.properties !== undefined && Object.keys(fields.properties).length <= MAX_OPTIONS;
  const paging = pagingParams.find((param) => operation.query?.[param] && param !== 'limit');
  const limit = (operation.query?.['limit']?.schema as Keywords | undefined)?.maximum;
  const command: ResourceCommand = {
    name,
    id,
    summary: decapitalize(spelling.summary ?? operation.summary.replace(/^Find /, 'Show ')),
    method: route.method,
    api,
    ...(isScoped && { isScoped }),
    ...(spelling.isPart && { isPart: true }),
    ...(spelling.isDefault && { isDefault: true }),
    params: listParams(route, operation, routes),
    options: listOptions({ isScoped, operation, spelling, fields: hasFields ? fields : {}, name }),
    ...(spelling.sends && { sends: spelling.sends }),
    ...(body && { body: body.type === 'multipart/form-data' ? 'form' : hasFields ? 'object' : 'any' }),
    response: isList ? 'list' : response.type === undefined ? 'object' : 'content',
    ...(result.properties?.['warnings'] && { warns: true }),
    ...(rows?.type === 'array' && { columns: checkColumns(spelling.columns, rows.items ?? {}, id) }),
    ...(isList && paging !== undefined && { paging: { ...(limit !== undefined && { limit }), next: paging } }),
  };
  return command;
}

/** `GET /workspaces/:id/budgets` → `workspaces budgets list`. */
function nameCommand(
  { method, path }: DefinedRoute<never>,
  { response }: Operation,
  routes: readonly DefinedRoute<never>[],
): string {
  const parts = path.slice(base.length).split('/');
  const words = parts.filter((part) => !part.startsWith(':'));
  if (response.type !== undefined) return [...words.slice(0, -1), 'download'].join(' ');
  if (parts.at(-1)!.startsWith(':')) return [...words, verbs[method]!].join(' ');
  const isCollection = routes.some((other) => other.method === 'GET' && other.path === path);
  if (!isCollection) return words.join(' ');
  const isList = (response.schema as Keywords).properties?.['data']?.type === 'array';
  return [...words, method === 'GET' && isList ? 'list' : verbs[method]!].join(' ');
}

function listParams(
  { path }: DefinedRoute<never>,
  { path: schemas = {} }: Operation,
  routes: readonly DefinedRoute<never>[],
): ResourceParam[] {
  return [...path.matchAll(/:(\w+)/g)].map(({ 1: name = '', index }) => {
    const prefix = path.slice(0, index - 1);
    const flags = paramFlags[name];
    const list = routes.find((other) => other.method === 'GET' && other.path === prefix)?.operation;
    const words = (schemas[name] as Keywords | undefined)?.enum;
    const kind = singular(prefix.split('/').at(-1)!);
    const label = list && !words ? kind : name.replace(/_?id$/i, '') || kind;
    const item = (list?.response.schema as Keywords | undefined)?.properties?.['data']?.items?.properties ?? {};
    const isNamed = item['name'] !== undefined && !['name', 'slug'].includes(name);
    const names = [item['hash'] ? 'hash' : 'id', 'slug', 'name'].filter((field) => item[field]);
    const of = flags ? 'listInterns' : isNamed ? list?.id : undefined;
    const given = ['name', 'slug', 'version'].includes(name) ? name : 'id';
    const help = words ? writeWords(words) : flags ? 'its id or name' : `its ${isNamed ? writeWords(names) : given}`;
    return { name, label, help, ...(of !== undefined && { of }), ...(flags !== undefined && { flags }) };
  });
}

interface OptionSource {
  isScoped: boolean;
  operation: Operation;
  spelling: Spelling;
  fields: Keywords;
  name: string;
}

function listOptions({ isScoped, operation, spelling, fields, name }: OptionSource): ResourceOption[] {
  const isHidden = (field: string): boolean => spelling.hides?.includes(field) === true || spelling.sends !== undefined;
  const noun = singular(name.split(' ')[0]!);
  const query = Object.entries(operation.query ?? {}).flatMap(([field, { schema, description, required }]) => {
    const isOurs = isScoped && (field === 'provider' || field === 'workspace_id');
    if (pagingParams.includes(field) || isOurs || isHidden(field)) return [];
    const help = decapitalize(description.replaceAll('`', '').replace(/\.$/, ''));
    return [createOption({ field, schema, place: 'query', isRequired: required === true, help, spelling, noun })];
  });
  const body = Object.entries(fields.properties ?? {}).flatMap(([field, schema]) => {
    if (isHidden(field)) return [];
    const isRequired = fields.required?.includes(field) === true;
    return [createOption({ field, schema, place: 'body', isRequired, spelling, noun })];
  });
  const shorthands = (spelling.shorthands ?? []).map((one: Shorthand) => ({
    ...one,
    field: '',
    place: 'body' as const,
  }));
  return [...query, ...body, ...shorthands];
}

interface Field {
  field: string;
  schema: TSchema | Keywords;
  place: ResourceOption['place'];
  isRequired: boolean;
  help?: string;
  spelling: Spelling;
  noun: string;
}

function createOption({ field, schema, place, isRequired, help, spelling, noun }: Field): ResourceOption {
  const given = schema as Keywords;
  const members = given.anyOf?.filter(({ type }) => type !== 'null') ?? [given];
  const isNullable = given.anyOf !== undefined && members.length < given.anyOf.length;
  const own = members.length === 1 ? members[0]! : {};
  const words = findWords(own, isNullable);
  const of = fieldLists[field];
  const kind = spelling.flags?.[field] === '<secret>' ? 'secret' : findKind(own, words, place);
  const isLong = kind === 'text' && (own.maxLength ?? 0) > MAX_LINE;
  const known = fieldHelp[field] ?? help ?? kebab(field).replaceAll('-', ' ');
  const limits = kind === 'words' ? `: ${writeWords([...words!, ...(isNullable ? ['none'] : [])])}` : writeLimits(own);
  const wanted = flagNames[field] ?? kebab(field);
  const flag = of === 'listWorkspaces' ? 'workspace' : reserved.includes(wanted) ? `${noun}-${wanted}` : wanted;
  return {
    field,
    flags: spelling.flags?.[field] ?? `--${flag}${placeholders[kind]}`,
    place,
    kind,
    help: of
      ? helpOfLists[of]!
      : `${known}${limits}${isLong ? '; - reads the standard input' : ''}${isNullable && kind !== 'words' ? ', or none' : ''}`,
    ...(isNullable && { isNullable: true }),
    ...(isRequired && !spelling.isPart && !spelling.optional?.includes(field) && { isRequired: true }),
    ...(isLong && { isLong: true }),
    ...(of !== undefined && { of }),
  };
}

const placeholders: Record<ResourceOption['kind'], string> = {
  text: ' <text>',
  number: ' <number>',
  words: ' <word>',
  json: ' <json>',
  list: ' <value...>',
  switch: '',
  secret: '',
  file: '',
};

const helpOfLists: Record<string, string> = {
  listGuardrails: 'id or name of a guardrail',
  listKeys: 'by hash, the first 4 or more digits of it, or name',
  listWorkspaces: 'name, slug or id of a workspace',
};

/** The words of an `enum`, of a pattern that only has words, and of a boolean that can be null. */
function findWords(own: Keywords, isNullable: boolean): readonly string[] | undefined {
  const [, inPattern] = /^\^\(\?:([\w|]+)\)\?\$$/.exec(own.pattern ?? '') ?? [];
  return own.enum ?? inPattern?.split('|') ?? (own.type === 'boolean' && isNullable ? ['true', 'false'] : undefined);
}

function findKind(own: Keywords, words: readonly string[] | undefined, place: string): ResourceOption['kind'] {
  if (own.format === 'binary') return 'file';
  if (words) return place === 'query' && words.join() === 'true,false' ? 'switch' : 'words';
  if (own.type === 'boolean') return 'switch';
  if (own.type === 'string') return 'text';
  if (own.type === 'number' || own.type === 'integer') return 'number';
  const isFlat = own.type === 'array' && (own.items?.type === 'string' || own.items?.enum !== undefined);
  return isFlat ? 'list' : 'json';
}

function writeLimits({ type, minimum = 0, maximum, items }: Keywords): string {
  if (items?.enum) return `: ${writeWords(items.enum)}`;
  if (type !== 'number' && type !== 'integer') return '';
  if (maximum === undefined || maximum > MAX_SHOWN) return `, ${minimum} or more`;
  return minimum < 1e-6 ? `, at most ${maximum}` : `, ${minimum} to ${maximum}`;
}

/** @throws {Error} if a column is no field of the rows */
function checkColumns(columns: readonly string[] | undefined, items: Keywords, id: string): string[] {
  if (columns === undefined) return listColumns(items);
  const fields = columns.map((column) => column.replace(/^.*=/, '').split('.')[0]!);
  const wrong = fields.find((field) => field !== '*' && items.properties?.[field] === undefined);
  if (wrong !== undefined)
    throw new Error(`A row of ${id} has no field ${wrong}. Correct the columns in spellings.ts.`);
  return [...columns];
}

/** Lists the fields of a table that has no columns of its own: scalars, names first. */
function listColumns({ properties = {} }: Keywords): string[] {
  const fields = Object.entries(properties).flatMap(([field, { type, anyOf = [] }]) =>
    ['object', 'array'].includes(type ?? '') || anyOf.some((one) => ['object', 'array'].includes(one.type ?? ''))
      ? []
      : [field],
  );
  const names = ['name', 'slug', 'id', 'status'].filter((field) => fields.includes(field));
  return [...new Set([...names, ...fields])].slice(0, DEFAULT_COLUMNS);
}

const singular = (noun: string): string => noun.replace(/s$/, '');
const kebab = (field: string): string =>
  field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`).replaceAll('_', '-');
const decapitalize = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

/** `a, b or c`. */
const writeWords = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
