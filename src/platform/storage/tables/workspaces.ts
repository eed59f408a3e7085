import { isDeepStrictEqual } from 'node:util';
import { type Selectable, sql } from 'kysely';
import { isRateLimited, type RateLimits } from '../../../domain/rate-limits.ts';
import type { SavedPlugin } from '../../../domain/request-defaults.ts';
import type { Listed, Page } from '../ports/page.ts';
import {
  type AppliedSettings,
  defaultWorkspaceSettings,
  type WorkspaceDetails,
  type WorkspaceRecord,
  type WorkspaceSettings,
} from '../ports/workspaces.ts';
import { readNullableNumber, readNumber, writeTextColumn } from './columns.ts';
import type { Database, WorkspaceTable } from './database.ts';
import { queueFilesOf } from './passages.ts';
import { changeAccess } from './revisions.ts';
import { createSlug } from './workspace-slug.ts';

/** Lists the oldest first. */
export async function listWorkspaceRows(db: Database): Promise<WorkspaceRecord[]> {
  const rows = await db
    .selectFrom('workspaces')
    .select(['id', 'name', 'created_at_ms'])
    .orderBy('created_at_ms')
    .orderBy('id')
    .execute();
  return rows.map((row) => ({ id: row.id, name: row.name, createdAtMs: readNumber(row.created_at_ms) }));
}

/** Lists the settings of workspaces that apply to requests. */
export async function listAppliedSettings(db: Database): Promise<AppliedSettings[]> {
  const rows = await db.selectFrom('workspaces').select(['id', 'settings']).execute();
  return rows.flatMap(({ id: workspaceId, settings: text }) => {
    const settings = readSettings(text);
    const { ioLoggingSamplingRate: samplingRate, ioLoggingApiKeyIds: apiKeyIds } = settings;
    const { defaultTextModel, defaultImageModel, defaultProviderSort } = settings;
    const defaultPlugins = nullIfEmpty(settings.defaultPlugins);
    const disabledServerTools = nullIfEmpty(settings.disabledServerTools);
    const ioLogging = settings.ioLogging ? { samplingRate, apiKeyIds } : null;
    const rateLimits = isRateLimited(settings.rateLimits) ? settings.rateLimits : null;
    const applied = {
      ioLogging,
      defaultTextModel,
      defaultImageModel,
      defaultProviderSort,
      defaultPlugins,
      disabledServerTools,
      rateLimits,
    };
    return Object.values(applied).every((setting) => setting === null) ? [] : [{ workspaceId, ...applied }];
  });
}

const nullIfEmpty = <Item>(list: Item[] | null): Item[] | null => (list?.length ? list : null);

/** Inserts with a unique slug, or renames. The same name is not a change. */
export async function putWorkspace(db: Database, workspace: WorkspaceRecord): Promise<void> {
  const name = writeTextColumn(workspace.name);
  await changeAccess(db, async (trx) => {
    const known = await trx.selectFrom('workspaces').select('name').where('id', '=', workspace.id).executeTakeFirst();
    if (known?.name === name) return false;
    if (known) await trx.updateTable('workspaces').set({ name }).where('id', '=', workspace.id).execute();
    else {
      const others = await trx.selectFrom('workspaces').select('slug').execute();
      await trx
        .insertInto('workspaces')
        .values({
          id: workspace.id,
          name,
          slug: createSlug(name, new Set(others.map(({ slug }) => slug))),
          created_at_ms: workspace.createdAtMs,
          updated_at_ms: null,
          settings: '{}',
        })
        .execute();
    }
    return true;
  });
}

/** Replaces the given limits. Identical limits are not a change. */
export const setWorkspaceRates = (db: Database, id: string, limits: Partial<RateLimits>): Promise<void> =>
  changeSettings(db, id, ({ rateLimits }) => ({ rateLimits: { ...rateLimits, ...limits } }));

/** Replaces the saved plugins. Identical plugins are not a change. */
export const setDefaultPlugins = (db: Database, id: string, defaultPlugins: SavedPlugin[]): Promise<void> =>
  changeSettings(db, id, () => ({ defaultPlugins }));

async function changeSettings(
  db: Database,
  id: string,
  change: (settings: WorkspaceSettings) => Partial<WorkspaceSettings>,
): Promise<void> {
  await changeAccess(db, async (trx) => {
    const row = await trx.selectFrom('workspaces').select('settings').where('id', '=', id).executeTakeFirst();
    if (!row) return false;
    const settings = readSettings(row.settings);
    const wanted = { ...settings, ...change(settings) };
    if (isDeepStrictEqual(wanted, settings)) return false;
    const text = writeTextColumn(JSON.stringify(wanted));
    await trx.updateTable('workspaces').set({ settings: text }).where('id', '=', id).execute();
    return true;
  });
}

/** Lists workspaces with all their settings, the oldest first. */
export async function listWorkspaceDetails(db: Database, { offset, limit }: Page): Promise<Listed<WorkspaceDetails>> {
  const { total } = await db
    .selectFrom('workspaces')
    .select(sql<bigint>`count(*)`.as('total'))
    .executeTakeFirstOrThrow();
  const rows = await selectOldest(db).limit(limit).offset(offset).execute();
  return { rows: rows.map(readWorkspace), total: readNumber(total) };
}

const selectOldest = (db: Database) => db.selectFrom('workspaces').selectAll().orderBy('created_at_ms').orderBy('id');

/** @param id or slug; an id takes precedence over a slug */
export async function findWorkspaceRow(db: Database, id: string): Promise<WorkspaceDetails | undefined> {
  const wanted = writeTextColumn(id);
  const rows = await selectOldest(db)
    .where((row) => row.or([row('id', '=', wanted), row('slug', '=', wanted)]))
    .execute();
  const found = rows.find((row) => row.id === wanted) ?? rows[0];
  return found && readWorkspace(found);
}

export async function findWorkspaceByName(db: Database, name: string): Promise<WorkspaceDetails | undefined> {
  const row = await selectOldest(db).where('name', '=', writeTextColumn(name)).executeTakeFirst();
  return row && readWorkspace(row);
}

/** Returns the workspace with this name, or else the oldest. */
export async function findDefaultWorkspace(db: Database, name: string): Promise<WorkspaceDetails | undefined> {
  const named = await findWorkspaceByName(db, name);
  if (named) return named;
  const row = await selectOldest(db).limit(1).executeTakeFirst();
  return row && readWorkspace(row);
}

/** Inserts, or replaces all columns except `created_at_ms`. */
export async function saveWorkspace(trx: Database, workspace: WorkspaceDetails): Promise<void> {
  await trx
    .insertInto('workspaces')
    .values({
      id: workspace.id,
      name: writeTextColumn(workspace.name),
      slug: workspace.slug,
      created_at_ms: workspace.createdAtMs,
      updated_at_ms: workspace.updatedAtMs,
      settings: writeTextColumn(JSON.stringify(workspace.settings)),
    })
    .onConflict((oc) =>
      oc.column('id').doUpdateSet((eb) => ({
        name: eb.ref('excluded.name'),
        slug: eb.ref('excluded.slug'),
        updated_at_ms: eb.ref('excluded.updated_at_ms'),
        settings: eb.ref('excluded.settings'),
      })),
    )
    .execute();
}

/** Also deletes its budgets, memberships and files. */
export async function deleteWorkspaceRows(trx: Database, id: string): Promise<void> {
  await queueFilesOf(trx, id);
  await trx.deleteFrom('workspaces').where('id', '=', id).execute();
}

const readWorkspace = (row: Selectable<WorkspaceTable>): WorkspaceDetails => ({
  id: row.id,
  name: row.name,
  slug: row.slug,
  createdAtMs: readNumber(row.created_at_ms),
  updatedAtMs: readNullableNumber(row.updated_at_ms),
  settings: readSettings(row.settings),
});

const readSettings = (text: string): WorkspaceSettings => ({
  ...defaultWorkspaceSettings,
  ...(JSON.parse(text) as object),
});
