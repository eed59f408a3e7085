import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { GatewayError, type Issue, invalidRequest } from '../../domain/errors.ts';
import type { ManagementTransaction } from '../../platform/storage/ports/management.ts';
import type { PresetRecord, PresetVersionRecord } from '../../platform/storage/ports/presets.ts';
import { checkPresetConfig } from '../../requests/responses/preset-config.ts';
import { applyChange } from '../apply-change.ts';
import { findModules } from '../check-module-plugins.ts';
import { listChanges } from '../list-changes.ts';
import type { Actor, Edit, ManagementParts } from '../parts.ts';
import { type FoundPreset, getPreset, getPresetVersion, type PresetScope } from './find-preset.ts';
import type { CreatePresetBody, UpdatePresetBody } from './schema.ts';

/** Maximum presets of a workspace, and versions of a preset. All designated versions are in memory. */
export const MAX_PRESETS = 200;
export const MAX_VERSIONS = 1000;

/** The settings of a version. */
interface VersionSettings {
  config: Record<string, unknown>;
  systemPrompt: string | null;
}

/**
 * Creates a preset with its first version.
 *
 * @throws {GatewayError} `conflict` if the slug is taken; `invalid_request` for an invalid config or too many presets
 */
export async function createPreset(
  parts: ManagementParts,
  actor: Actor,
  scope: PresetScope,
  { slug, name, description, status, config, system_prompt: systemPrompt }: CreatePresetBody,
): Promise<FoundPreset> {
  const settings = { config: config ?? {}, systemPrompt: systemPrompt ?? null };
  await rejectInvalid(parts, settings.config);
  return applyChange(parts, actor, async (edit) => {
    await rejectTaken(edit.transaction, scope, slug);
    return insert(edit, actor, scope, { slug, name, description, status }, settings);
  });
}

/**
 * Creates a preset, or a version of it that becomes the designated one. The same settings again change nothing.
 *
 * @throws {GatewayError} `conflict` if the preset is archived; `invalid_request` for an invalid config
 */
export async function savePresetSettings(
  parts: ManagementParts,
  actor: Actor,
  scope: PresetScope,
  slug: string,
  settings: VersionSettings,
): Promise<FoundPreset> {
  await rejectInvalid(parts, settings.config);
  return applyChange(parts, actor, async (edit) => {
    const { transaction } = edit;
    const known = await transaction.findPreset(scope.workspaceId, slug);
    if (!known) return insert(edit, actor, scope, { slug }, settings);
    if (known.status === 'archived') {
      throw new GatewayError('conflict', `The preset ${slug} is archived; set its status to active first.`);
    }
    const found = await getPreset(transaction, scope, slug);
    return change(edit, actor, scope, found, { settings });
  });
}

/**
 * Changes the fields that the body names. New settings become a new designated version.
 *
 * @throws {GatewayError} `not_found`, `conflict` if the slug is taken, `invalid_request` for an invalid config
 */
export async function updatePreset(
  parts: ManagementParts,
  actor: Actor,
  scope: PresetScope,
  slug: string,
  body: UpdatePresetBody,
): Promise<FoundPreset> {
  const { config, system_prompt: systemPrompt, designated_version: designated, ...fields } = body;
  if (config) await rejectInvalid(parts, config);
  const hasSettings = config !== undefined || systemPrompt !== undefined;
  if (hasSettings && designated !== undefined) {
    const message =
      '`designated_version` chooses a version, and `config` or `system_prompt` creates one; send one of them.';
    throw invalidRequest([{ path: 'designated_version', message }]);
  }
  return applyChange(parts, actor, async (edit) => {
    const { transaction } = edit;
    const found = await getPreset(transaction, scope, slug);
    if (fields.slug !== undefined && fields.slug !== slug) await rejectTaken(transaction, scope, fields.slug);
    const version =
      designated === undefined ? undefined : await getPresetVersion(transaction, found.preset, designated);
    const settings = hasSettings
      ? {
          config: config ?? readConfig(found.version),
          systemPrompt: systemPrompt === undefined ? found.version.systemPrompt : systemPrompt,
        }
      : undefined;
    return change(edit, actor, scope, found, { fields, settings, version });
  });
}

/** Deletes a preset with its versions. @returns it as it was @throws {GatewayError} `not_found` */
export const deletePreset = (
  parts: ManagementParts,
  actor: Actor,
  scope: PresetScope,
  slug: string,
): Promise<FoundPreset> =>
  applyChange(parts, actor, async ({ transaction }) => {
    const found = await getPreset(transaction, scope, slug);
    await transaction.deletePreset(found.preset.id);
    await record(transaction, 'preset.delete', found, undefined);
    return found;
  });

/** The config of a version. */
export const readConfig = ({ config }: Pick<PresetVersionRecord, 'config'>): Record<string, unknown> =>
  JSON.parse(config) as Record<string, unknown>; // written by this module

async function rejectInvalid(parts: ManagementParts, config: Record<string, unknown>): Promise<void> {
  const modules = await findModules(parts, config['plugins']);
  const issues: Issue[] = checkPresetConfig(config, modules).map(({ path, message }) => ({
    path: path === '' ? 'config' : `config.${path}`,
    message,
  }));
  if (issues.length > 0) throw invalidRequest(issues);
}

async function rejectTaken(
  transaction: ManagementTransaction,
  { workspaceId }: PresetScope,
  slug: string,
): Promise<void> {
  if (!(await transaction.findPreset(workspaceId, slug))) return;
  throw new GatewayError('conflict', `This workspace has a preset with the slug ${slug} already.`);
}

async function insert(
  { transaction, nowMs }: Edit,
  actor: Actor,
  scope: PresetScope,
  {
    slug,
    name = slug,
    description = null,
    status = 'active',
  }: Pick<CreatePresetBody, 'slug'> & Partial<CreatePresetBody>,
  settings: VersionSettings,
): Promise<FoundPreset> {
  const { workspaceId, memberId } = scope;
  const { total } = await transaction.listPresets(workspaceId, { offset: 0, limit: 1 });
  if (total >= MAX_PRESETS) {
    const message = `This workspace has ${total} presets, and at most ${MAX_PRESETS} are allowed; delete one.`;
    throw invalidRequest([{ path: '', message }]);
  }
  const id = randomUUID();
  const version = createVersion({ presetId: id, number: 1, nowMs, creatorId: nameCreator(actor, scope) }, settings);
  const preset: PresetRecord = {
    id,
    workspaceId,
    slug,
    name,
    description,
    status,
    statusUpdatedAtMs: status === 'active' ? null : nowMs,
    designatedVersionId: version.id,
    creatorMemberId: memberId,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  await transaction.savePreset(preset);
  await transaction.addPresetVersion(version);
  await record(transaction, 'preset.create', undefined, { preset, version });
  return { preset, version };
}

async function change(
  { transaction, nowMs }: Edit,
  actor: Actor,
  scope: PresetScope,
  before: FoundPreset,
  changes: {
    fields?: Pick<UpdatePresetBody, 'slug' | 'name' | 'description' | 'status'>;
    settings?: VersionSettings | undefined;
    version?: PresetVersionRecord | undefined;
  },
): Promise<FoundPreset> {
  const { preset } = before;
  const { slug = preset.slug, name = preset.name, status = preset.status, description } = changes.fields ?? {};
  let version = changes.version ?? before.version;
  const isNew = changes.settings !== undefined && !isSame(before.version, changes.settings);
  if (isNew) {
    const { rows } = await transaction.listPresetVersions(preset.id, { offset: 0, limit: 1 });
    const number = (rows[0]?.version ?? 0) + 1;
    if (number > MAX_VERSIONS) {
      const message = `The preset ${preset.slug} has ${MAX_VERSIONS} versions, which is the maximum; create another preset.`;
      throw invalidRequest([{ path: 'config', message }]);
    }
    const creatorId = nameCreator(actor, scope);
    version = createVersion({ presetId: preset.id, number, nowMs, creatorId }, changes.settings!);
    await transaction.addPresetVersion(version);
  }
  const after: PresetRecord = {
    ...preset,
    slug,
    name,
    status,
    description: description === undefined ? preset.description : description,
    statusUpdatedAtMs: status === preset.status ? preset.statusUpdatedAtMs : nowMs,
    designatedVersionId: version.id,
  };
  if (isDeepStrictEqual(after, preset)) return before;
  const changed = { preset: { ...after, updatedAtMs: nowMs }, version };
  await transaction.savePreset(changed.preset);
  await record(transaction, 'preset.update', before, changed);
  return changed;
}

const isSame = (version: PresetVersionRecord, { config, systemPrompt }: VersionSettings): boolean =>
  version.systemPrompt === systemPrompt && isDeepStrictEqual(readConfig(version), config);

const createVersion = (
  { presetId, number, nowMs, creatorId }: { presetId: string; number: number; nowMs: number; creatorId: string },
  { config, systemPrompt }: VersionSettings,
): PresetVersionRecord => ({
  id: randomUUID(),
  presetId,
  version: number,
  config: JSON.stringify(config),
  systemPrompt,
  creatorId,
  createdAtMs: nowMs,
});

const nameCreator = ({ keyHash }: Actor, { memberId }: PresetScope): string => memberId ?? keyHash ?? 'operator';

/** The audit log names versions. Their settings stay readable by their numbers. */
async function record(
  transaction: ManagementTransaction,
  action: string,
  before: FoundPreset | undefined,
  after: FoundPreset | undefined,
): Promise<void> {
  const { id, workspaceId } = (after ?? before)!.preset; // one of them exists
  const changes = listChanges(before && describe(before), after && describe(after));
  await transaction.record({ action, objectKind: 'preset', objectId: id, workspaceId, changes });
}

const describe = ({ preset: { slug, name, description, status }, version: { version } }: FoundPreset) => ({
  slug,
  name,
  description,
  status,
  designated_version: version,
});
