import { type Selectable, sql } from 'kysely';
import type { Listed, Page } from '../ports/page.ts';
import type { DesignatedPreset, PresetRecord, PresetSettings, PresetVersionRecord } from '../ports/presets.ts';
import { readNullableNumber, readNumber, writeNullableText, writeTextColumn } from './columns.ts';
import type { Database, PresetRowTable, PresetVersionTable } from './database.ts';

export async function listDesignatedPresets(db: Database): Promise<DesignatedPreset[]> {
  const rows = await db
    .selectFrom('presets')
    .innerJoin('preset_versions', 'preset_versions.id', 'presets.designated_version_id')
    .select(['presets.workspace_id', 'presets.slug', 'presets.status'])
    .select(['preset_versions.id as version_id', 'preset_versions.version'])
    .execute();
  return rows.map((row) => ({
    workspaceId: row.workspace_id,
    slug: row.slug,
    status: row.status,
    versionId: row.version_id,
    version: readNumber(row.version),
  }));
}

/** Reads versions by id. Omits unknown ones. */
export async function readPresetSettings(db: Database, versionIds: readonly string[]): Promise<PresetSettings[]> {
  if (versionIds.length === 0) return [];
  const rows = await db
    .selectFrom('preset_versions')
    .select(['id', 'config', 'system_prompt'])
    .where('id', 'in', [...versionIds])
    .execute();
  return rows.map(({ id, config, system_prompt: systemPrompt }) => ({ id, config, systemPrompt }));
}

/** Lists the presets of a workspace, the oldest first. */
export async function listPresetRows(
  db: Database,
  workspaceId: string,
  { offset, limit }: Page,
): Promise<Listed<PresetRecord>> {
  const own = db.selectFrom('presets').where('workspace_id', '=', writeTextColumn(workspaceId));
  const { total } = await own.select(sql<bigint>`count(*)`.as('total')).executeTakeFirstOrThrow();
  const rows = await own.selectAll().orderBy('created_at_ms').orderBy('id').limit(limit).offset(offset).execute();
  return { rows: rows.map(readPreset), total: readNumber(total) };
}

export async function findPresetRow(
  db: Database,
  workspaceId: string,
  slug: string,
): Promise<PresetRecord | undefined> {
  const row = await db
    .selectFrom('presets')
    .selectAll()
    .where('workspace_id', '=', writeTextColumn(workspaceId))
    .where('slug', '=', writeTextColumn(slug))
    .executeTakeFirst();
  return row && readPreset(row);
}

/** Lists the newest first. */
export async function listPresetVersionRows(
  db: Database,
  presetId: string,
  { offset, limit }: Page,
): Promise<Listed<PresetVersionRecord>> {
  const own = db.selectFrom('preset_versions').where('preset_id', '=', writeTextColumn(presetId));
  const { total } = await own.select(sql<bigint>`count(*)`.as('total')).executeTakeFirstOrThrow();
  const rows = await own.selectAll().orderBy('version', 'desc').limit(limit).offset(offset).execute();
  return { rows: rows.map(readVersion), total: readNumber(total) };
}

export async function findPresetVersion(
  db: Database,
  presetId: string,
  version: number,
): Promise<PresetVersionRecord | undefined> {
  const row = await db
    .selectFrom('preset_versions')
    .selectAll()
    .where('preset_id', '=', writeTextColumn(presetId))
    .where('version', '=', BigInt(version))
    .executeTakeFirst();
  return row && readVersion(row);
}

/** Finds a version by its own id. */
export async function findDesignatedVersion(db: Database, versionId: string): Promise<PresetVersionRecord | undefined> {
  const row = await db.selectFrom('preset_versions').selectAll().where('id', '=', versionId).executeTakeFirst();
  return row && readVersion(row);
}

/** Inserts, or replaces the columns that can change. */
export async function savePreset(trx: Database, preset: PresetRecord): Promise<void> {
  const changing = {
    slug: writeTextColumn(preset.slug),
    name: writeTextColumn(preset.name),
    description: writeNullableText(preset.description),
    status: preset.status,
    status_updated_at_ms: preset.statusUpdatedAtMs,
    designated_version_id: preset.designatedVersionId,
    updated_at_ms: preset.updatedAtMs,
  };
  await trx
    .insertInto('presets')
    .values({
      ...changing,
      id: preset.id,
      workspace_id: preset.workspaceId,
      creator_member_id: writeNullableText(preset.creatorMemberId),
      created_at_ms: preset.createdAtMs,
    })
    .onConflict((oc) => oc.column('id').doUpdateSet(changing))
    .execute();
}

export async function addPresetVersion(trx: Database, version: PresetVersionRecord): Promise<void> {
  await trx
    .insertInto('preset_versions')
    .values({
      id: version.id,
      preset_id: version.presetId,
      version: version.version,
      config: writeTextColumn(version.config),
      system_prompt: writeNullableText(version.systemPrompt),
      creator_id: writeTextColumn(version.creatorId),
      created_at_ms: version.createdAtMs,
    })
    .execute();
}

/** Also deletes its versions. */
export async function deletePresetRow(trx: Database, id: string): Promise<void> {
  await trx.deleteFrom('presets').where('id', '=', id).execute();
}

const readPreset = (row: Selectable<PresetRowTable>): PresetRecord => ({
  id: row.id,
  workspaceId: row.workspace_id,
  slug: row.slug,
  name: row.name,
  description: row.description,
  status: row.status,
  statusUpdatedAtMs: readNullableNumber(row.status_updated_at_ms),
  designatedVersionId: row.designated_version_id,
  creatorMemberId: row.creator_member_id,
  createdAtMs: readNumber(row.created_at_ms),
  updatedAtMs: readNumber(row.updated_at_ms),
});

const readVersion = (row: Selectable<PresetVersionTable>): PresetVersionRecord => ({
  id: row.id,
  presetId: row.preset_id,
  version: readNumber(row.version),
  config: row.config,
  systemPrompt: row.system_prompt,
  creatorId: row.creator_id,
  createdAtMs: readNumber(row.created_at_ms),
});
