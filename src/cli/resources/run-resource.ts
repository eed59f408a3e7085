import { createWriteStream } from 'node:fs';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { LoadedConfig } from '../../config/load.ts';
import { defaultGuardrailId } from '../../domain/guardrail.ts';
import { isObject } from '../../schema/by-kind.ts';
import type { CommandParts } from '../commands/command-parts.ts';
import { resolveKey } from '../resolve-key.ts';
import { resolveWorkspace } from '../resolve-workspace.ts';
import { CommandError, readMessage, type Terminal } from '../terminal.ts';
import { type BootstrapChange, warnOfBootstrap } from '../warn-of-bootstrap.ts';
import type { ResourceCommand } from './definition.ts';
import { complete, followUp } from './hooks.ts';
import { findCommand } from './find-command.ts';
import { neededByRoute, neededSettings, type Resources, type RouteResult, withResources } from './open-resources.ts';
import { printResult } from './print-result.ts';
import {
  chooseVariants,
  type Given,
  readCommandRequest,
  requireFields,
  type WantedRequest,
} from './read-command-request.ts';

type Row = Record<string, unknown>;

/** Runs a command of a resource: calls the handlers of its routes on the store, and prints their responses. */
export async function runResource(
  parts: CommandParts,
  variants: readonly ResourceCommand[],
  given: Given,
): Promise<void> {
  const { terminal } = parts;
  const options = given.options as Record<string, string | undefined>;
  const chosen = chooseVariants(variants, given);
  const requests: WantedRequest[] = [];
  for (const command of chosen) requests.push(await readCommandRequest(terminal, command, given));
  const [{ command: first, params }] = requests as [WantedRequest];
  const { workspace, member } = options;
  const loaded = await loadSettings(parts, first, options);
  const context = await readContext(terminal, loaded, requests);
  const place = {
    workspace: first.isScoped ? workspace : undefined,
    member: first.isScoped ? member : undefined,
    intern: params['intern_id'] ?? params['internId'],
    container: params['container_id'],
    routingContext: () => context,
    isReading: chosen.every(({ method }) => method === 'GET'),
  };
  const isListed = requests.at(-1)!.command.response === 'list';
  await withResources(terminal, loaded, first, place, async (resources) => {
    for (const request of requests) {
      const label = Object.values(request.params).at(-1) ?? '';
      await resolveNames(resources, request);
      await complete(resources, request);
      requireFields(request);
      const result = await send(resources, request, options['limit']);
      if (request.command.response === 'content') await saveContent(terminal, options['output']!, result);
      else if (request === requests.at(-1) || !isListed) {
        const columns = request.command.columns ?? [];
        const workspaces = columns.some((one) => one.endsWith('workspace_id')) ? await listNames(resources) : new Map();
        const print = { isJson: given.options['json'] === true, label, status: result.status, workspaces };
        printResult(terminal, request.command, result.content, print);
      }
      if (request.command.method !== 'GET')
        warnOfBootstrap(terminal, loaded.config, describeChange(request, label, result));
      await followUp(terminal, resources, request, result, { waits: given.options['wait'] !== false });
    }
  });
}

/** Loads what the API of a command needs. A list of management needs only the store, which is usually known without the configuration. */
async function loadSettings(
  { findStore, loadForStore }: CommandParts,
  { api, method, id }: ResourceCommand,
  { config, data }: Record<string, string | undefined>,
): Promise<LoadedConfig> {
  const sources = { ...(config && { config }), ...(data && { data }) };
  const needed = neededByRoute[id] ?? neededSettings[api];
  const needsStore = api === 'management' && method === 'GET' && needed === undefined;
  if (needsStore) return { config: await findStore(sources) } as LoadedConfig; // the handlers read nothing else
  return loadForStore(sources, ...(needed ?? []));
}

/** Returns the models and providers of the configuration if a request names some. Says why if they are unknown. */
async function readContext(terminal: Terminal, loaded: LoadedConfig, requests: readonly WantedRequest[]) {
  const named = requests.filter(({ command }) => command.warns).flatMap(({ body = {} }) => Object.entries(body));
  if (!named.some(([field, value]) => value !== null && /_(?:models?|providers?)$/.test(field))) return undefined;
  const say = (message: string): void => void terminal.stderr.write(`headgate: ${message}\n`);
  if (!loaded.isComplete) {
    say('names of models and providers are not checked, because the configuration has errors.');
    return undefined;
  }
  try {
    const { readRoutingContext } = await import('../read-routing-context.ts');
    return readRoutingContext(loaded, say);
  } catch (error) {
    say(`the models could not be read: ${readMessage(error)}`);
    return undefined;
  }
}

/** Replaces names of objects by what the API takes. @throws {CommandError} */
async function resolveNames(resources: Resources, { command, params, query, body }: WantedRequest): Promise<void> {
  for (const { name, of } of command.params) {
    if (of !== undefined && params[name] !== undefined)
      params[name] = await resolveName(resources, of, params[name], params);
  }
  if (params['container_id'] !== undefined) params['container_id'] = params['container_id'].replace(/@.*$/, '');
  for (const { field, of, place } of command.options) {
    const fields: Row = place === 'query' ? query : (body ?? {});
    const given = fields[field];
    if (of === undefined || given === undefined || given === null) continue;
    const resolveOne = (one: unknown): Promise<string> => resolveName(resources, of, String(one), {});
    fields[field] = Array.isArray(given) ? await Promise.all(given.map(resolveOne)) : await resolveOne(given);
  }
}

/** Finds an object by its id, the first 4 or more digits of it, its slug or its name. @throws {CommandError} if none or several match */
async function resolveName(
  resources: Resources,
  list: string,
  wanted: string,
  params: Record<string, string>,
): Promise<string> {
  const { storage } = resources;
  if (list === 'listKeys') return resolveKey(await storage.access.listKeys(), wanted).hash;
  if (list === 'listWorkspaces') return (await resolveWorkspace(storage.management, wanted)).id;
  const [, workspace] = list === 'listGuardrails' ? (/^default:(.+)$/.exec(wanted) ?? []) : [];
  if (workspace !== undefined) return defaultGuardrailId((await resolveWorkspace(storage.management, workspace)).id);
  const { columns: _, ...command } = findCommand(list);
  const { content } = await send(resources, { command, params, query: {}, body: undefined });
  const rows = (content as { data: Row[] }).data;
  const isStart = /^[0-9a-f-]{4,36}$/.test(wanted);
  const found = rows.filter(
    ({ id, slug, name }) => [id, slug, name].includes(wanted) || (isStart && String(id).startsWith(wanted)),
  );
  const noun = command.name.split(' ').at(-2)!.replace(/s$/, '');
  const exact = found.filter(({ id }) => id === wanted);
  const [only, ...others] = exact.length > 0 ? exact : found;
  if (!only) throw new CommandError(`There is no ${noun} "${wanted}"; see "headgate ${command.name}".`);
  if (others.length === 0) return String(only['id']);
  const which = found.map(({ id, name }) => `${id} (${name})`).join(', ');
  throw new CommandError(`"${wanted}" matches several ${noun}s; give the id: ${which}.`);
}

/** Calls a route. Follows the pages of a list. @param limit rows at most */
async function send(
  { call }: Resources,
  { command, params, query, body, raw }: WantedRequest,
  limit = 'all',
): Promise<RouteResult> {
  const { id, paging, options } = command;
  const input = { params, query, body, ...(raw && { raw }) };
  if (!paging) {
    return call(id, input).catch((error: unknown) => {
      throw error instanceof CommandError
        ? new CommandError(nameOptions(error.message, options), { cause: error })
        : error;
    });
  }
  const most = limit === 'all' ? Number.POSITIVE_INFINITY : Number(limit);
  if (!(Number.isInteger(most) || limit === 'all') || most < 1)
    throw new CommandError(`--limit ${limit}: give a number of 1 or more.`);
  const rows: Row[] = [];
  for (let next: Record<string, string> = {}; ; ) {
    const size: Record<string, string> =
      paging.limit === undefined ? {} : { limit: String(Math.min(paging.limit, most - rows.length)) };
    const { status, content } = await call(id, { ...input, query: { ...query, ...size, ...next } });
    const page = content as Row & { data: Row[] };
    rows.push(...page.data);
    const { total_count: total, has_more: hasMore, next_cursor: after, cursor, last_id: last } = page;
    const isLast = page.data.length === 0 || rows.length >= most || hasMore === false || total === rows.length;
    if (isLast) return { status, content: { ...page, data: rows.slice(0, most) } };
    next = { [paging.next]: String(paging.next === 'offset' ? rows.length : (after ?? cursor ?? last)) };
  }
}

/** `confirm=true` → `--confirm`. */
const nameOptions = (message: string, options: ResourceCommand['options']): string =>
  options.reduce((text, { field, flags }) => text.replaceAll(`${field}=true`, flags), message);

async function listNames(resources: Resources): Promise<Map<string, string>> {
  return new Map((await resources.storage.access.listWorkspaces()).map(({ id, name }) => [id, name]));
}

async function saveContent({ cwd, stderr }: Terminal, file: string, { content }: RouteResult): Promise<void> {
  const path = resolve(cwd, file);
  try {
    await pipeline(content as Readable, createWriteStream(path));
  } catch (error) {
    throw new CommandError(`${file}: ${readMessage(error)}`, { cause: error });
  }
  stderr.write(`Wrote ${path}.\n`);
}

function describeChange(
  { command, body = {} }: WantedRequest,
  label: string,
  { content }: RouteResult,
): BootstrapChange {
  const row = isObject(content) && isObject(content['data']) ? content['data'] : {};
  const changes = command.method === 'DELETE' ? undefined : body;
  return { section: command.name.split(' ')[0]!, names: [label, row['id'], row['hash']], changes };
}
