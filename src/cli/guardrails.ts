import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { assignGuardrail, unassignGuardrail } from '../management/guardrails/assign-guardrail.ts';
import { createGuardrail } from '../management/guardrails/create-guardrail.ts';
import { deleteGuardrail } from '../management/guardrails/delete-guardrail.ts';
import { getGuardrail } from '../management/guardrails/find-guardrail.ts';
import { findUnknownEntries } from '../management/guardrails/find-unknown.ts';
import { listGuardrailBudgets } from '../management/guardrails/list-budgets.ts';
import {
  checkCreateGuardrail,
  checkTestGuardrail,
  checkUpdateGuardrail,
  type GuardrailSettingsBody,
} from '../management/guardrails/schema.ts';
import { testFilters } from '../management/guardrails/test-filters.ts';
import { updateGuardrail } from '../management/guardrails/update-guardrail.ts';
import { writeGuardrail } from '../management/guardrails/write-guardrail.ts';
import { readTree } from '../config/read-file.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { filterActions, type FilterSide, INJECTION_SLUG } from '../domain/content-filter.ts';
import { formatUsd } from '../domain/format-usd.ts';
import { defaultGuardrailId, modelGroups } from '../domain/guardrail.ts';
import { usdOf } from '../metering/cost.ts';
import type { GuardrailRecord } from '../platform/storage/ports/guardrails.ts';
import type { ManagementStore } from '../platform/storage/ports/management.ts';
import { readDollars } from './limit-options.ts';
import { readStore } from './open-store.ts';
import { type JsonOption, printObject } from './print-object.ts';
import { resolveKey } from './resolve-key.ts';
import { createParts, operate, operator } from './operate.ts';
import { resolveWorkspace } from './resolve-workspace.ts';
import { drawTable } from './table.ts';
import { CommandError, readMessage, type Terminal } from './terminal.ts';
import { warnAboutUnknownNames } from './warn-about-unknown-names.ts';

/** The rules of a guardrail, as options. A list of `none` removes the rule. */
export interface RuleOptions {
  name?: string;
  description?: string;
  allowModel?: string[];
  ignoreModel?: string[];
  allowProvider?: string[];
  ignoreProvider?: string[];
  /** `all`, or authors of models. */
  zdr?: string[];
  /** `paid-training`, `free-training`, `free-publication`. */
  forbid?: string[];
  /** USD, or `none`. */
  limit?: string;
  /** `daily`, `weekly`, `monthly`. */
  limitReset?: string;
  includeByok?: boolean;
  /** Built-in content filters, by action. */
  flag?: string[];
  redact?: string[];
  block?: string[];
  /** `user_only`, `all_messages`. */
  scanScope?: string;
  /** `input`, `output`. */
  applyTo?: string[];
  /** A file with the content filters of the API, or `none`. */
  filters?: string;
}

const ALL = { offset: 0, limit: Number.MAX_SAFE_INTEGER };

/** Prints all guardrails, the oldest first: as a table, or as a JSON list. */
export async function printGuardrails(
  terminal: Terminal,
  config: Pick<Config, 'storage'>,
  { json, workspace }: { json?: boolean; workspace?: string },
): Promise<void> {
  const { stdout, stderr } = terminal;
  const { rows, names, holders } = await readStore({ config, stderr }, async ({ access, management }) => {
    const only = workspace === undefined ? undefined : (await resolveWorkspace(management, workspace)).id;
    const { assignments } = await access.listAppliedGuardrails();
    return {
      rows: (await management.listGuardrails({ ...ALL, workspaceId: only })).rows,
      names: new Map((await access.listWorkspaces()).map(({ id, name }) => [id, name])),
      holders: Map.groupBy(assignments, ({ guardrailId }) => guardrailId),
    };
  });
  if (json) {
    stdout.write(`${JSON.stringify(rows.map(writeGuardrail), undefined, 2)}\n`);
    return;
  }
  if (rows.length === 0) {
    stdout.write('There are no guardrails. "headgate guardrails create" creates one.\n');
    return;
  }
  const cells = rows.map(({ id, name, workspaceId, rules, limitNanoUsd, resetInterval }) => {
    const own = holders.get(id) ?? [];
    const isDefault = id === defaultGuardrailId(workspaceId);
    const count = (kind: string) => String(own.filter((one) => one.kind === kind).length);
    const says = Object.entries(writeRules(rules)).map(([rule, what]) => `${rule} ${what}`);
    if (limitNanoUsd !== null) says.push(`${formatUsd(usdOf(limitNanoUsd))} ${resetInterval}`);
    const place = names.get(workspaceId) ?? '-';
    return [
      name,
      place,
      isDefault ? 'all' : count('key'),
      isDefault ? 'all' : count('member'),
      id.slice(0, 8),
      says.join('; '),
    ];
  });
  const columns = [
    { title: 'NAME', canWrap: true },
    { title: 'WORKSPACE', canWrap: true },
    { title: 'KEYS', isNumber: true },
    { title: 'MEMBERS', isNumber: true },
    { title: 'ID' },
    { title: 'RULES', canWrap: true },
  ];
  stdout.write(drawTable(terminal, columns, cells));
}

/** Summarizes the rules that are set. */
function writeRules(rules: GuardrailRecord['rules']): Record<string, string> {
  const { allowedModels, ignoredModels, allowedProviders, ignoredProviders, zeroRetention } = rules;
  const lists = { models: allowedModels, 'not models': ignoredModels };
  const providers = { providers: allowedProviders, 'not providers': ignoredProviders };
  const zdr = modelGroups.filter((group) => zeroRetention[group]);
  const forbidden = forbiddable.filter(({ rule }) => rules[rule] === false).map(({ word }) => word);
  const { builtinFilters, customFilters } = rules;
  const filters = Object.fromEntries(
    filterActions.map((action) => [
      action,
      [
        ...(builtinFilters ?? []).map((filter) => ({ ...filter, label: filter.slug })),
        ...(customFilters ?? []).map((filter) => ({ ...filter, label: filter.label ?? 'a pattern' })),
      ].flatMap((filter) => (filter.action === action ? [writeFilter(filter)] : [])),
    ]),
  );
  const said = Object.entries({ ...lists, ...providers, zdr, forbid: forbidden, ...filters });
  return Object.fromEntries(said.flatMap(([rule, list]) => (list?.length ? [[rule, list.join(' ')]] : [])));
}

const writeFilter = ({ label, applyTo = ['input'] }: { label: string; applyTo?: readonly FilterSide[] }): string =>
  applyTo.includes('output') ? `${label} (${applyTo.join(', ')})` : label;

/** Prints a guardrail with its keys and members and the usage of its limit. */
export async function showGuardrail(
  terminal: Terminal,
  config: Config,
  wanted: string,
  options: JsonOption,
): Promise<void> {
  const { stderr } = terminal;
  const shown = await readStore({ config, stderr }, async (storage) => {
    const { management } = storage;
    const guardrail = await findGuardrail(management, wanted);
    const budgets = await listGuardrailBudgets(await createParts(storage, config), guardrail.id, ALL);
    const of = { ...ALL, guardrailId: guardrail.id };
    const [keys, members] = [
      await management.listAssignments({ ...of, kind: 'key' }),
      await management.listAssignments({ ...of, kind: 'member' }),
    ];
    return {
      ...writeGuardrail(guardrail),
      keys: keys.rows.map(({ holder, keyName, keyLabel }) => ({ hash: holder, name: keyName, label: keyLabel })),
      members: members.rows.map(({ holder }) => holder),
      ...(guardrail.limitNanoUsd === null ? undefined : { budgets: budgets.rows }),
    };
  });
  printObject(terminal, shown, options);
}

/** Creates a guardrail and prints it. */
export async function addGuardrail(
  terminal: Terminal,
  loaded: LoadedConfig,
  { workspace, ...options }: RuleOptions & JsonOption & { name: string; workspace?: string },
): Promise<void> {
  const { stderr } = terminal;
  const asked = readBody(terminal, options);
  const made = await operate({ config: loaded.config, stderr }, async (parts) => {
    const place =
      workspace === undefined ? undefined : { workspace_id: (await resolveWorkspace(parts.management, workspace)).id };
    return createGuardrail(parts, operator, checkCreateGuardrail({ ...asked, ...place }));
  });
  printObject(terminal, writeGuardrail(made), options);
  await warnOfUnknown({ stderr }, loaded, asked);
}

export async function changeGuardrail(
  terminal: Terminal,
  loaded: LoadedConfig,
  wanted: string,
  options: RuleOptions & JsonOption,
): Promise<void> {
  const { stderr } = terminal;
  const asked = readBody(terminal, options);
  if (Object.keys(asked).length === 0) {
    throw new CommandError('Nothing would change. See "headgate guardrails update --help".');
  }
  const changed = await operate({ config: loaded.config, stderr }, async (parts) => {
    const body = checkUpdateGuardrail(asked);
    const { id } = await findGuardrail(parts.management, wanted);
    return updateGuardrail(parts, operator, id, body);
  });
  printObject(terminal, writeGuardrail(changed), options);
  await warnOfUnknown({ stderr }, loaded, asked);
}

async function warnOfUnknown(
  { stderr }: Pick<Terminal, 'stderr'>,
  loaded: LoadedConfig,
  asked: GuardrailSettingsBody,
): Promise<void> {
  const { allowed_models, ignored_models, allowed_providers, ignored_providers } = asked;
  if (!(allowed_models ?? ignored_models ?? allowed_providers ?? ignored_providers)) return;
  await warnAboutUnknownNames({ stderr }, loaded, ({ catalog }) => findUnknownEntries(asked, catalog));
}

export async function removeGuardrail({ stdout, stderr }: Terminal, config: Config, wanted: string): Promise<void> {
  const gone = await operate({ config, stderr }, async (parts) => {
    const { id } = await findGuardrail(parts.management, wanted);
    return deleteGuardrail(parts, operator, id);
  });
  stdout.write(`Deleted "${gone.name}". No key or member uses it now.\n`);
}

export interface TestOptions extends JsonOption {
  /** `-` reads the standard input. */
  text: string;
  guardrail?: string;
  /** A file with content filters. */
  file?: string;
  kind?: string;
}

/** Shows what the content filters of a guardrail, or of a file, find in a text, and what they do. */
export async function testGuardrail(terminal: Terminal, { config }: LoadedConfig, options: TestOptions): Promise<void> {
  const { stderr } = terminal;
  const { guardrail, file, kind } = options;
  if ((guardrail === undefined) === (file === undefined)) throw new CommandError('Give either --guardrail or --file.');
  if (file === '-' && options.text === '-') throw new CommandError('Only one of --text and --file can be -.');
  const filters = file === undefined ? undefined : readFilterFile(terminal, file);
  const text = options.text === '-' ? readFileSync(0, 'utf8') : options.text;
  const result = await operate({ config, stderr }, async (parts) => {
    const found = guardrail === undefined ? undefined : await findGuardrail(parts.management, guardrail);
    const id = found && { guardrail_id: found.id };
    const body = checkTestGuardrail({ text, ...filters, ...id, ...(kind !== undefined && { kind }) });
    return testFilters(parts, body);
  });
  printObject(terminal, result, options);
}

export interface AssigneeOptions {
  /** By hash, first digits or name. */
  key?: string[];
  member?: string[];
}

/** Assigns a guardrail to keys and members. Replaces their current guardrail. */
export const addAssignments = (
  terminal: Terminal,
  config: Config,
  wanted: string,
  options: AssigneeOptions,
): Promise<void> => changeHolders(terminal, config, wanted, options, true);

/** Unassigns a guardrail from keys and members. */
export const removeAssignments = (
  terminal: Terminal,
  config: Config,
  wanted: string,
  options: AssigneeOptions,
): Promise<void> => changeHolders(terminal, config, wanted, options, false);

async function changeHolders(
  { stdout, stderr }: Terminal,
  config: Config,
  wanted: string,
  { key: keys = [], member: members = [] }: AssigneeOptions,
  gives: boolean,
): Promise<void> {
  if (keys.length + members.length === 0) throw new CommandError('Give --key, --member, or both.');
  const { name, count } = await operate({ config, stderr }, async (parts) => {
    const guardrail = await findGuardrail(parts.management, wanted);
    const known = await parts.access.listKeys();
    const assignees = [
      { kind: 'key' as const, field: '--key', ids: keys.map((one) => resolveKey(known, one).hash) },
      { kind: 'member' as const, field: '--member', ids: members },
    ];
    const change = gives ? assignGuardrail : unassignGuardrail;
    return { name: guardrail.name, count: await change(parts, operator, guardrail.id, assignees) };
  });
  const done = gives ? 'now have' : 'no longer have';
  stdout.write(
    `${count} of ${keys.length + members.length} ${done} "${name}"${count === 0 ? ': nothing to do' : ''}.\n`,
  );
}

/**
 * Finds a guardrail by its id, the first 4 or more digits of the id, or its name. `default:main` is the default
 * guardrail of a workspace.
 *
 * @throws {CommandError} if no guardrail matches, or several do
 */
async function findGuardrail(management: ManagementStore, wanted: string): Promise<GuardrailRecord> {
  const of = /^default:(.+)$/.exec(wanted)?.[1];
  if (of !== undefined) {
    const { id } = await resolveWorkspace(management, of);
    return getGuardrail(management, defaultGuardrailId(id));
  }
  const { rows } = await management.listGuardrails(ALL);
  const isStart = /^[0-9a-f-]{4,36}$/.test(wanted);
  const found = rows.filter(({ id, name }) => name === wanted || (isStart && id.startsWith(wanted)));
  if (found.length === 1) return found[0]!;
  if (found.length === 0) {
    throw new CommandError(`No guardrail has the id or name "${wanted}"; see "headgate guardrails list".`);
  }
  const which = found.map(({ id, name }) => `${id} (${name})`).join(', ');
  throw new CommandError(`"${wanted}" matches several guardrails; give the id: ${which}.`);
}

const forbiddable = [
  { word: 'paid-training', rule: 'paidTraining', field: 'enable_paid_model_training' },
  { word: 'free-training', rule: 'freeTraining', field: 'enable_free_model_training' },
  { word: 'free-publication', rule: 'freePublication', field: 'enable_free_model_publication' },
] as const;

/** Returns the given options under their names in the API. */
function readBody(terminal: Terminal, options: RuleOptions): GuardrailSettingsBody {
  const { name, description, allowModel, ignoreModel, allowProvider, ignoreProvider, zdr, forbid } = options;
  const lists = {
    allowed_models: allowModel,
    ignored_models: ignoreModel,
    allowed_providers: allowProvider,
    ignored_providers: ignoreProvider,
  };
  const given = Object.entries(lists).filter(([, list]) => list !== undefined);
  return {
    ...(name === undefined ? undefined : { name }),
    ...(description === undefined ? undefined : { description: description === 'none' ? null : description }),
    ...Object.fromEntries(given.map(([field, list]) => [field, isNone(list!) ? null : list])),
    ...(zdr === undefined ? undefined : readGroups(zdr)),
    ...(forbid === undefined ? undefined : readForbidden(forbid)),
    ...readLimit(options),
    ...readFilters(terminal, options),
  };
}

type FilterFields = Pick<GuardrailSettingsBody, 'content_filters' | 'content_filter_builtins'>;

/** The options for built-in filters replace all built-in filters. A file replaces what it has. */
function readFilters(terminal: Terminal, options: RuleOptions): FilterFields {
  const { scanScope, applyTo, filters: file } = options;
  const fields = file === undefined ? {} : file === 'none' ? noFilters : readFilterFile(terminal, file);
  const builtins = filterActions.flatMap((action) => (options[action] ?? []).map((slug) => ({ slug, action })));
  if (builtins.length === 0) {
    const name = scanScope !== undefined ? '--scan-scope' : applyTo && '--apply-to';
    if (name !== undefined)
      throw new CommandError(`${name} applies to filters of --flag, --redact and --block; give one.`);
    return fields;
  }
  if (fields.content_filter_builtins) {
    throw new CommandError(
      `${file} already has built-in filters. Add the filters of --flag, --redact and --block to the file.`,
    );
  }
  const content_filter_builtins = builtins.map((filter) => ({
    ...filter,
    ...(filter.slug === INJECTION_SLUG && scanScope !== undefined && { scan_scope: scanScope }),
    ...(applyTo && { apply_to: applyTo }),
  }));
  return { ...fields, content_filter_builtins } as FilterFields; // body validation rejects unknown words
}

const noFilters: FilterFields = { content_filters: null, content_filter_builtins: null };

/** Reads a YAML or JSON file with the content filters of a guardrail. @throws {CommandError} */
function readFilterFile({ cwd }: Terminal, file: string): FilterFields {
  let text: string;
  try {
    text = readFileSync(file === '-' ? 0 : resolve(cwd, file), 'utf8');
  } catch (error) {
    throw new CommandError(`${file}: ${readMessage(error)}`, { cause: error });
  }
  const { tree, problems } = readTree(text);
  if (problems.length > 0) throw new CommandError(`${file}, line ${problems[0]!.line}: ${problems[0]!.message}.`);
  const { content_filters, content_filter_builtins } = tree as FilterFields; // body validation checks them
  if (content_filters === undefined && content_filter_builtins === undefined) {
    throw new CommandError(`${file} has neither content_filters nor content_filter_builtins.`);
  }
  return {
    ...(content_filters !== undefined && { content_filters }),
    ...(content_filter_builtins !== undefined && { content_filter_builtins }),
  };
}

function readLimit({ limit, limitReset, includeByok }: RuleOptions): GuardrailSettingsBody {
  const dollars = limit === undefined || limit === 'none' ? null : usdOf(readDollars('--limit', limit));
  return {
    ...(limit === undefined ? undefined : { limit_usd: dollars }),
    ...(limit === 'none' ? { reset_interval: null } : undefined),
    // body validation rejects other values
    ...(limitReset === undefined ? undefined : { reset_interval: limitReset as 'daily' }),
    ...(includeByok === undefined ? undefined : { include_byok_in_budgets: includeByok }),
  };
}

const isNone = (list: readonly string[]): boolean => list.length === 1 && list[0] === 'none';

/** Enables the wanted groups and removes the rule for all others. */
function readGroups(wanted: readonly string[]): Record<string, boolean | null> {
  const isAll = wanted.length === 1 && wanted[0] === 'all';
  const groups: readonly string[] = isAll ? modelGroups : isNone(wanted) ? [] : wanted;
  refuseUnknown('--zdr', groups, [...modelGroups, 'all', 'none']);
  return Object.fromEntries(modelGroups.map((group) => [`enforce_zdr_${group}`, groups.includes(group) ? true : null]));
}

/** Forbids the wanted words and removes the rule for all others. */
function readForbidden(wanted: readonly string[]): Record<string, boolean | null> {
  const words: readonly string[] = isNone(wanted) ? [] : wanted;
  refuseUnknown('--forbid', words, [...forbiddable.map(({ word }) => word), 'none']);
  return Object.fromEntries(forbiddable.map(({ word, field }) => [field, words.includes(word) ? false : null]));
}

function refuseUnknown(option: string, words: readonly string[], known: readonly string[]): void {
  const wrong = words.find((word) => !known.includes(word) || word === 'all' || word === 'none');
  if (wrong !== undefined)
    throw new CommandError(
      `${option} ${wrong}: give ${known.join(', ')}; ${known.includes('all') ? 'all and none' : 'none'} cannot be combined.`,
    );
}
