import { changeBudgets } from '../management/budgets/change-budgets.ts';
import { listBudgets } from '../management/budgets/find-budget.ts';
import { checkPutBudget } from '../management/budgets/schema.ts';
import { changeMembers } from '../management/members/change-members.ts';
import { checkMemberIds } from '../management/members/schema.ts';
import { createWorkspace } from '../management/workspaces/create-workspace.ts';
import { deleteWorkspace } from '../management/workspaces/delete-workspace.ts';
import { findUnknownModels } from '../management/workspaces/find-unknown-models.ts';
import {
  checkCreateWorkspace,
  checkUpdateWorkspace,
  type WorkspaceSettingsBody,
} from '../management/workspaces/schema.ts';
import { updateWorkspace } from '../management/workspaces/update-workspace.ts';
import { writeWorkspace } from '../management/workspaces/write-workspace.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { rateLimitNames } from '../domain/rate-limits.ts';
import type { SavedPlugin, SortKey } from '../domain/request-defaults.ts';
import { type BudgetInterval, budgetIntervals } from '../platform/storage/ports/budgets.ts';
import type { WorkspaceDetails } from '../platform/storage/ports/workspaces.ts';
import { createSlug } from '../platform/storage/tables/workspace-slug.ts';
import { formatDay } from './format-time.ts';
import { usageColumns, writeUsageCells } from './limit-usage.ts';
import { readStore } from './open-store.ts';
import { operate, operator } from './operate.ts';
import { type JsonOption, printObject } from './print-object.ts';
import { resolveWorkspace } from './resolve-workspace.ts';
import { type RateOptions, readRateOptions } from './rate-options.ts';
import { resolveWorkspaceId } from './resolve-workspace-id.ts';
import { drawTable } from './table.ts';
import { CommandError, type Terminal } from './terminal.ts';
import { warnAboutUnknownNames } from './warn-about-unknown-names.ts';

/** Requests the whole list as one page. */
const ALL = { offset: 0, limit: Number.MAX_SAFE_INTEGER };

/** Prints all workspaces, the oldest first: as a table, or as a JSON list. */
export async function printWorkspaces(
  terminal: Terminal,
  config: Pick<Config, 'storage'>,
  { json }: { json?: boolean },
): Promise<void> {
  const { stdout, stderr } = terminal;
  const { rows, keys } = await readStore({ config, stderr }, async ({ access, management }) => ({
    rows: (await management.listWorkspaces(ALL)).rows,
    keys: await access.listKeys(),
  }));
  if (json) {
    stdout.write(`${JSON.stringify(rows.map(writeWorkspace), undefined, 2)}\n`);
    return;
  }
  if (rows.length === 0) {
    stdout.write('There are no workspaces. "headgate workspaces create" creates one.\n');
    return;
  }
  const cells = rows.map(({ id, name, slug, createdAtMs }) => [
    name,
    slug,
    String(keys.filter(({ workspaceId, kind }) => workspaceId === id && kind !== 'management').length),
    formatDay(createdAtMs),
    id,
  ]);
  const columns = [
    { title: 'NAME', canWrap: true },
    { title: 'SLUG', canWrap: true },
    { title: 'KEYS', isNumber: true },
    { title: 'CREATED' },
    { title: 'ID' },
  ];
  stdout.write(drawTable(terminal, columns, cells));
}

export interface WorkspaceOptions extends RateOptions {
  name?: string;
  slug?: string;
  description?: string;
  ioLogging?: boolean;
  /** Share of the sessions, 0.0001 to 1. */
  ioSampling?: string;
  /** For requests that do not set it, or `none`. */
  defaultTextModel?: string;
  defaultImageModel?: string;
  defaultProviderSort?: string;
  /** A JSON list, or `none`. */
  defaultPlugins?: string;
  /** Types, or `none`. */
  disableServerTools?: string[];
}

/** Creates a workspace and prints it. */
export async function addWorkspace(
  terminal: Terminal,
  loaded: LoadedConfig,
  options: WorkspaceOptions & JsonOption & { name: string },
): Promise<void> {
  const { stderr } = terminal;
  const asked = readBody(options);
  const made = await operate({ config: loaded.config, stderr }, async (parts) => {
    const { rows } = await parts.management.listWorkspaces(ALL);
    const slug = options.slug ?? createSlug(options.name, new Set(rows.map((row) => row.slug)));
    return createWorkspace(parts, operator, checkCreateWorkspace({ ...asked, slug }));
  });
  printObject(terminal, writeWorkspace(made), options);
  await warnOfModels({ stderr }, loaded, made, asked);
}

export async function changeWorkspace(
  terminal: Terminal,
  loaded: LoadedConfig,
  wanted: string,
  options: WorkspaceOptions & JsonOption,
): Promise<void> {
  const { stderr } = terminal;
  const { config } = loaded;
  const asked = readBody(options);
  if (Object.keys(asked).length === 0) {
    throw new CommandError('Nothing would change. See "headgate workspaces update --help".');
  }
  const changed = await operate({ config, stderr }, async (parts) => {
    const body = checkUpdateWorkspace(asked);
    const { id } = await resolveWorkspace(parts.management, wanted);
    return updateWorkspace(parts, operator, id, body);
  });
  printObject(terminal, writeWorkspace(changed), options);
  warnOfBootstrap({ stderr }, config, changed, 'renames it');
  warnOfLimits({ stderr }, config, changed, asked);
  await warnOfModels({ stderr }, loaded, changed, asked);
}

/** Returns the given options under their names in the API. */
function readBody(options: WorkspaceOptions): WorkspaceSettingsBody {
  const { name, slug, description, ioLogging, ioSampling } = options;
  const { defaultTextModel, defaultImageModel, defaultProviderSort, defaultPlugins, disableServerTools } = options;
  return {
    ...(name === undefined ? undefined : { name }),
    ...(slug === undefined ? undefined : { slug }),
    ...(description === undefined ? undefined : { description: orNull(description) }),
    ...(ioLogging === undefined ? undefined : { is_observability_io_logging_enabled: ioLogging }),
    ...(ioSampling === undefined ? undefined : { io_logging_sampling_rate: Number(ioSampling) }),
    ...(defaultTextModel === undefined ? undefined : { default_text_model: orNull(defaultTextModel) }),
    ...(defaultImageModel === undefined ? undefined : { default_image_model: orNull(defaultImageModel) }),
    ...(defaultProviderSort === undefined
      ? undefined
      : // Body validation rejects other values.
        { default_provider_sort: orNull(defaultProviderSort) as SortKey | null }),
    ...(defaultPlugins === undefined ? undefined : { default_plugins: readPlugins(defaultPlugins) }),
    ...(disableServerTools === undefined ? undefined : { disabled_server_tools: readTypes(disableServerTools) }),
    ...readRateOptions(options),
  };
}

/** Reads a JSON list of settings. Body validation checks them. */
function readPlugins(text: string): SavedPlugin[] | null {
  if (text === 'none') return null;
  try {
    return JSON.parse(text) as SavedPlugin[];
  } catch (error) {
    const example = `'[{"id": "response-healing"}]'`;
    throw new CommandError(`--default-plugins: give a JSON list such as ${example}, or none.`, { cause: error });
  }
}

const readTypes = (types: string[]): string[] | null => (types.length === 1 && types[0] === 'none' ? null : types);

const orNull = (text: string): string | null => (text === 'none' ? null : text);

/** Warns of an unknown default model, which fails every request without a model. The model may also be added later. */
async function warnOfModels(
  { stderr }: Pick<Terminal, 'stderr'>,
  loaded: LoadedConfig,
  { name }: WorkspaceDetails,
  asked: WorkspaceSettingsBody,
): Promise<void> {
  if (!asked.default_text_model && !asked.default_image_model) return;
  await warnAboutUnknownNames({ stderr }, loaded, (routingContext) =>
    findUnknownModels(asked, resolveWorkspaceId(loaded, name), routingContext),
  );
}

export async function removeWorkspace(
  { stdout, stderr }: Terminal,
  config: Config,
  wanted: string,
  { confirmDefault = false }: { confirmDefault?: boolean },
): Promise<void> {
  const gone = await operate({ config, stderr }, async (parts) => {
    const { id } = await resolveWorkspace(parts.management, wanted);
    const confirmation = { isDefaultConfirmed: confirmDefault, howToConfirm: 'say --confirm-default' };
    return deleteWorkspace(parts, operator, id, confirmation);
  });
  stdout.write(`Deleted "${gone.name}". Its ledger entries stay.\n`);
  warnOfBootstrap({ stderr }, config, gone, 'creates it again');
}

/** Warns that the configuration, which is applied at every start, restores the workspace. */
function warnOfBootstrap(
  { stderr }: Pick<Terminal, 'stderr'>,
  config: Config,
  workspace: WorkspaceDetails,
  what: string,
): void {
  const entry = config.bootstrap.workspaces.find(({ id }) => id === workspace.id);
  if (!entry || (what === 'renames it' && entry.name === workspace.name)) return;
  stderr.write(`It is in bootstrap.workspaces: change it there, too, or the next start or reload ${what}.\n`);
}

/** Warns that the configuration restores its limits and its plugins at every start. */
function warnOfLimits(
  { stderr }: Pick<Terminal, 'stderr'>,
  config: Config,
  { id, name }: WorkspaceDetails,
  asked: WorkspaceSettingsBody,
): void {
  const entry = config.bootstrap.workspaces.find((one) => one.id === id || one.name === name);
  const names = ['default_plugins', ...rateLimitNames] as const;
  if (!entry || !names.some((name) => name in asked && name in entry)) return;
  stderr.write(
    'It is in bootstrap.workspaces: change it there, too, or the next start or reload restores its limits and plugins.\n',
  );
}

/** Prints a workspace. */
export async function showWorkspace(
  terminal: Terminal,
  config: Config,
  wanted: string,
  options: JsonOption,
): Promise<void> {
  const { stderr } = terminal;
  const workspace = await operate({ config, stderr }, ({ management }) => resolveWorkspace(management, wanted));
  printObject(terminal, writeWorkspace(workspace), options);
}

export interface BudgetOptions {
  /** `monthly=100`. */
  set?: string[];
  remove?: string[];
  includeByok?: boolean;
}

/** Applies all changes or none, then prints the budgets and their usage, the longest interval first. */
export async function changeWorkspaceBudgets(
  terminal: Terminal,
  config: Config,
  wanted: string,
  { set = [], remove = [], includeByok }: BudgetOptions,
): Promise<void> {
  const { stdout, stderr } = terminal;
  const settings = set.map(readBudget);
  const removals = remove.map(readInterval);
  const twice = settings.find(({ interval }, at) => settings.slice(0, at).some((other) => other.interval === interval));
  if (twice) throw new CommandError(`--set ${twice.interval}: give each interval once.`);
  const { budgets, workspace } = await operate({ config, stderr }, async (parts) => {
    const { id } = await resolveWorkspace(parts.management, wanted);
    if (settings.length + removals.length > 0 || includeByok !== undefined) {
      const put = settings.map(({ interval, dollars }) => ({
        interval,
        limitUsd: checkPutBudget({ limit_usd: dollars }).limit_usd,
      }));
      await changeBudgets(parts, operator, id, { remove: removals, put, includeByok });
    }
    return listBudgets(parts, id);
  });
  if (budgets.length === 0) {
    stdout.write(`"${workspace.name}" has no budget.\n`);
    return;
  }
  const rows = budgets.map(({ budget, usage }) => [
    budget.interval,
    ...writeUsageCells(budget.limitNanoUsd, usage, currentTimeMs()),
  ]);
  stdout.write(drawTable(terminal, [{ title: 'INTERVAL' }, ...usageColumns], rows));
  const { includeByokInBudgets } = workspace.settings;
  stdout.write(`BYOK costs ${includeByokInBudgets ? 'count' : 'do not count'}.\n`);
}

function readBudget(text: string): { interval: BudgetInterval; dollars: number } {
  const [interval = '', dollars = ''] = text.split('=');
  if (!/^\d+(\.\d{1,9})?$/.test(dollars)) {
    throw new CommandError(`--set ${text}: give an interval and a sum in USD, like monthly=100.`);
  }
  return { interval: readInterval(interval), dollars: Number(dollars) };
}

function readInterval(text: string): BudgetInterval {
  const found = budgetIntervals.find((interval) => interval === text);
  if (!found) throw new CommandError(`"${text}" is not one of ${budgetIntervals.toReversed().join(', ')}.`);
  return found;
}

/** Adds and removes members, then prints the members of the workspace, the oldest membership first. */
export async function changeWorkspaceMembers(
  terminal: Terminal,
  config: Config,
  wanted: string,
  { add = [], remove = [] }: { add?: string[]; remove?: string[] },
): Promise<void> {
  const { stdout, stderr } = terminal;
  const { rows } = await operate({ config, stderr }, async (parts) => {
    const changes = {
      add: add.length === 0 ? undefined : checkMemberIds({ user_ids: add }),
      remove: remove.length === 0 ? undefined : checkMemberIds({ user_ids: remove }),
    };
    const { id } = await resolveWorkspace(parts.management, wanted);
    if (changes.add ?? changes.remove) await changeMembers(parts, operator, id, changes);
    return parts.management.listWorkspaceMembers(id, ALL);
  });
  if (rows.length === 0) stdout.write('It has no members.\n');
  else {
    const cells = rows.map(({ memberId, role, createdAtMs }) => [memberId, role, formatDay(createdAtMs)]);
    stdout.write(drawTable(terminal, [{ title: 'MEMBER' }, { title: 'ROLE' }, { title: 'SINCE' }], cells));
  }
}
