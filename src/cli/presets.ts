import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Config } from '../config/schema.ts';
import { getPreset, type PresetScope } from '../management/presets/find-preset.ts';
import { deletePreset, savePresetSettings, updatePreset } from '../management/presets/save-preset.ts';
import { checkPresetSlug, checkUpdatePreset } from '../management/presets/schema.ts';
import { writeFoundPreset, writePreset } from '../management/presets/write-preset.ts';
import { readJson } from '../http/read-json.ts';
import type { PresetRecord } from '../platform/storage/ports/presets.ts';
import { readPresetConfig } from '../requests/responses/preset-config.ts';
import { isObject } from '../schema/by-kind.ts';
import { formatDay } from './format-time.ts';
import { requireStore } from './open-store.ts';
import { operate, operator, type OperatorParts } from './operate.ts';
import { type JsonOption, printObject } from './print-object.ts';
import { resolveWorkspace } from './resolve-workspace.ts';
import { drawTable } from './table.ts';
import { CommandError, readMessage, type Terminal } from './terminal.ts';

export interface PresetPlace {
  /** Name, slug or id of the workspace. Absent: the default one. */
  workspace?: string;
}

/** Requests the whole list as one page. */
const ALL = { offset: 0, limit: Number.MAX_SAFE_INTEGER };

/** Opens the store for the presets of a workspace. */
const withPresets = async <Result>(
  { stderr }: Pick<Terminal, 'stderr'>,
  config: Config,
  { workspace }: PresetPlace,
  use: (parts: OperatorParts, scope: PresetScope) => Promise<Result>,
): Promise<Result> => {
  requireStore(config);
  return operate({ config, stderr }, async (parts) => {
    const { id } = await resolveWorkspace(parts.management, workspace);
    return use(parts, { workspaceId: id, memberId: null });
  });
};

/** Prints the presets of a workspace, the oldest first: as a table, or as a JSON list. */
export async function printPresets(
  terminal: Terminal,
  config: Config,
  options: PresetPlace & { json?: boolean },
): Promise<void> {
  const { stdout } = terminal;
  const found = await withPresets(terminal, config, options, async ({ management }, { workspaceId }) => {
    const { rows } = await management.listPresets(workspaceId, ALL);
    return Promise.all(rows.map(async (preset) => ({ preset, version: await findNumber(management, preset) })));
  });
  if (options.json) {
    stdout.write(
      `${JSON.stringify(
        found.map(({ preset }) => writePreset(preset)),
        undefined,
        2,
      )}\n`,
    );
    return;
  }
  if (found.length === 0) {
    stdout.write('The workspace has no presets. "headgate presets save" creates one.\n');
    return;
  }
  const cells = found.map(({ preset, version }) => [
    preset.slug,
    preset.name,
    preset.status,
    String(version),
    formatDay(preset.updatedAtMs),
  ]);
  const columns = ['SLUG', 'NAME', 'STATUS', 'VERSION', 'UPDATED'].map((title) => ({
    title,
    canWrap: title === 'NAME',
  }));
  stdout.write(drawTable(terminal, columns, cells));
}

const findNumber = async (management: OperatorParts['management'], preset: PresetRecord): Promise<number> =>
  (await management.findDesignatedVersion(preset.designatedVersionId))?.version ?? 0;

/** Prints a preset. */
export async function showPreset(
  terminal: Terminal,
  config: Config,
  slug: string,
  place: PresetPlace & JsonOption,
): Promise<void> {
  const found = await withPresets(terminal, config, place, ({ management }, scope) =>
    getPreset(management, scope, slug),
  );
  printObject(terminal, writeFoundPreset(found), place);
}

/** Creates a preset, or a new version of it, from the body of a request. Prints it. */
export async function savePresetFile(
  terminal: Terminal,
  config: Config,
  wanted: string,
  options: PresetPlace & JsonOption & { body: string },
): Promise<void> {
  const body = readBodyFile(terminal, options.body);
  const { config: settings, systemPrompt, unknown } = readPresetConfig(body);
  if (systemPrompt !== null && typeof systemPrompt !== 'string') {
    throw new CommandError(`--body ${options.body}: "instructions" must be a string.`);
  }
  const saved = await withPresets(terminal, config, options, (parts, scope) => {
    const { slug } = checkPresetSlug({ slug: wanted });
    return savePresetSettings(parts, operator, scope, slug, { config: settings, systemPrompt });
  });
  printObject(terminal, writeFoundPreset(saved), options);
  if (unknown.length > 0) terminal.stderr.write(`headgate: unknown fields were left out: ${unknown.join(', ')}\n`);
}

function readBodyFile({ cwd }: Terminal, file: string): Record<string, unknown> {
  let body: unknown;
  try {
    body = readJson(readFileSync(file === '-' ? 0 : resolve(cwd, file)));
  } catch (error) {
    throw new CommandError(`--body ${file}: ${readMessage(error)}`, { cause: error });
  }
  if (!isObject(body)) throw new CommandError(`--body ${file}: give a JSON object, the body of a request.`);
  return body;
}

export interface PresetOptions extends PresetPlace, JsonOption {
  slug?: string;
  name?: string;
  /** Or `none`. */
  description?: string;
  status?: string;
  /** The number of the version that requests use. */
  useVersion?: string;
}

/** Changes the given settings of a preset and prints it. */
export async function changePreset(
  terminal: Terminal,
  config: Config,
  wanted: string,
  options: PresetOptions,
): Promise<void> {
  const { slug, name, description, status, useVersion } = options;
  const asked = {
    ...(slug === undefined ? undefined : { slug }),
    ...(name === undefined ? undefined : { name }),
    ...(description === undefined ? undefined : { description: description === 'none' ? null : description }),
    ...(status === undefined ? undefined : { status }),
    ...(useVersion === undefined ? undefined : { designated_version: Number(useVersion) }),
  };
  if (Object.keys(asked).length === 0) {
    throw new CommandError('Nothing would change. See "headgate presets update --help".');
  }
  const changed = await withPresets(terminal, config, options, (parts, scope) =>
    updatePreset(parts, operator, scope, wanted, checkUpdatePreset(asked)),
  );
  printObject(terminal, writeFoundPreset(changed), options);
}

export async function removePreset(
  terminal: Terminal,
  config: Config,
  wanted: string,
  place: PresetPlace,
): Promise<void> {
  const { preset } = await withPresets(terminal, config, place, (parts, scope) =>
    deletePreset(parts, operator, scope, wanted),
  );
  terminal.stdout.write(`Deleted "${preset.slug}" with its versions. Requests that name it fail from now on.\n`);
}
