import { type Kysely, sql } from 'kysely';
import type { LedgerEntry } from '../../domain/ledger-entry.ts';
import { compareSchema, migrate } from './migrations/migrate.ts';
import { createContainerStore } from './sql-containers.ts';
import { createManagementStore } from './sql-management.ts';
import { createVaultStore } from './sql-vaults.ts';
import type { Storage } from './storage.ts';
import { readActivity } from './tables/activity.ts';
import { createAlertStore } from './tables/alerts.ts';
import { createArchiveStore } from './tables/archives.ts';
import { createConsoleStore } from './tables/console.ts';
import { appendContents, deleteContentsBefore, findContent, listKeptContents } from './tables/contents.ts';
import type { Tables } from './tables/database.ts';
import { addFeedback, listFeedback } from './tables/feedback.ts';
import {
  addFile,
  deleteFileRow,
  findFileByName,
  findFileRow,
  listExistingFiles,
  listFileRows,
  readFileUsage,
} from './tables/files.ts';
import { createInternScheduleStore } from './tables/intern-schedules.ts';
import { createInternStore } from './tables/interns.ts';
import { createJobStore } from './tables/jobs.ts';
import { listAppliedGuardrails } from './tables/guardrails.ts';
import { listBootstrapKeys, listKeyRows, markBootstrapKey, putKey, setKeyDisabled } from './tables/keys.ts';
import { appendEntries, correctEntries, findEntry, listEntries } from './tables/ledger.ts';
import { listMembers, listMemberships, putMember, setMemberRates, setMemberships } from './tables/members.ts';
import { createPassageStore } from './tables/passages.ts';
import { findFeedRows, readFeedEnd, readFeedRows, readNewEntries } from './tables/entry-feed.ts';
import { countEntries, listEntryPage } from './tables/entry-pages.ts';
import { listDesignatedPresets, readPresetSettings } from './tables/presets.ts';
import { readAccessRevision, readReductions } from './tables/revisions.ts';
import { foldSpendingRows, readSpending } from './tables/spending.ts';
import { RollupQueue } from './tables/rollup-queue.ts';
import type { addRollups, RollupBatch } from './tables/rollups.ts';
import { readTotals, readTraffic } from './tables/traffic.ts';
import { fillUsage, selectUsage, readUsageDays, verifyUsage } from './tables/usage.ts';
import {
  listAppliedSettings,
  listWorkspaceRows,
  putWorkspace,
  setDefaultPlugins,
  setWorkspaceRates,
} from './tables/workspaces.ts';

/**
 * Creates the store over either dialect. All SQL is in `tables/`.
 *
 * @param db reads 64-bit integers as `bigint` with both drivers; closed with the storage
 * @param own the functions that only one dialect has: a faster way to record entries, another connection for searches
 */
export async function createSqlStorage(
  db: Kysely<Tables>,
  own: {
    append?: (entries: readonly LedgerEntry[]) => Promise<RollupBatch | undefined>;
    addRollups?: typeof addRollups;
    searches?: Kysely<Tables> | undefined;
  } = {},
): Promise<Storage> {
  const reports = own.searches ?? db;
  const rollups = new RollupQueue(db, own.addRollups);
  const append: typeof own.append = own.append ?? ((entries) => appendEntries(db, entries));
  const ping = async () => {
    await sql`select 1`.execute(db);
    return 'writable' as const;
  };
  await ping(); // Kysely closes only a driver that it has used
  let closing: Promise<void> | undefined;
  return {
    access: {
      readRevision: () => readAccessRevision(db),
      listKeys: () => listKeyRows(db),
      listBootstrapKeys: () => listBootstrapKeys(db),
      markBootstrapKey: (hash, isDefined) => markBootstrapKey(db, hash, isDefined),
      listWorkspaces: () => listWorkspaceRows(db),
      listMembers: () => listMembers(db),
      putKey: (key) => putKey(db, key),
      setKeyDisabled: (hash, disabled) => setKeyDisabled(db, hash, disabled),
      putWorkspace: (workspace) => putWorkspace(db, workspace),
      putMember: (member) => putMember(db, member),
      listDesignatedPresets: () => listDesignatedPresets(db),
      readPresetSettings: (versionIds) => readPresetSettings(db, versionIds),
      setDefaultPlugins: (id, plugins) => setDefaultPlugins(db, id, plugins),
      setRateLimits: ({ kind, id }, limits) => (kind === 'member' ? setMemberRates : setWorkspaceRates)(db, id, limits),
      setMemberships: (memberId, workspaceIds) => setMemberships(db, memberId, workspaceIds),
      listMemberships: () => listMemberships(db),
      listAppliedSettings: () => listAppliedSettings(db),
      listAppliedGuardrails: () => listAppliedGuardrails(db),
    },
    ledger: {
      append: async (entries) => rollups.keep(await append(entries)),
      find: (workspaceId, id) => findEntry(db, workspaceId, id),
      list: (query) => listEntries(db, query),
      listPage: (query) => listEntryPage(reports, query),
      count: (filters) => countEntries(reports, filters),
      readNew: (query) => readNewEntries(reports, query),
      readEnd: () => readFeedEnd(reports),
      findRows: (query) => findFeedRows(reports, query),
      readRows: (query) => readFeedRows(reports, query),
      correct: async (corrections, atMs) => {
        const { count, batch } = await correctEntries(db, corrections, atMs);
        rollups.keep(batch);
        return count;
      },
      readReductions: () => readReductions(db),
      readTotals: (workspaceId) => readTotals(db, workspaceId),
      readTraffic: (sinceMs) => readTraffic(db, sinceMs),
      readSpending: async (scopes, sinceMs) => {
        if (scopes.some((scope) => scope !== 'everything' && 'tag' in scope)) await rollups.drain();
        return readSpending(db, reports, scopes, sinceMs);
      },
      foldSpending: (startsMs) => foldSpendingRows(db, startsMs),
      readActivity: async (query) => {
        await rollups.drain();
        return readActivity(reports, query);
      },
      readUsage: async (query) => {
        await rollups.drain();
        return selectUsage(reports, query);
      },
      verifyUsage: (dayMs, repair) => verifyUsage(db, rollups, dayMs, repair),
      readUsageDays: () => readUsageDays(db),
    },
    management: createManagementStore(db),
    contents: {
      append: (contents) => appendContents(db, contents),
      find: (id) => findContent(db, id),
      listKept: (ids) => listKeptContents(db, ids),
      deleteBefore: (beforeMs, max) => deleteContentsBefore(db, beforeMs, max),
      addFeedback: (feedback) => addFeedback(db, feedback),
      listFeedback: (query) => listFeedback(db, query),
    },
    files: {
      addFile: (file, limits, change) => addFile(db, file, limits, change),
      findFile: (workspaceId, id) => findFileRow(db, workspaceId, id),
      findFileByName: (workspaceId, filename) => findFileByName(db, workspaceId, filename),
      listFiles: (query) => listFileRows(db, query),
      readFileUsage: (workspaceId) => readFileUsage(db, workspaceId),
      deleteFile: (workspaceId, id, change) => deleteFileRow(db, workspaceId, id, change),
      listExistingFiles: (ids) => listExistingFiles(db, ids),
    },
    containers: createContainerStore(db),
    passages: createPassageStore(db, own.searches),
    interns: createInternStore(db),
    schedules: createInternScheduleStore(db),
    jobs: createJobStore(db),
    alerts: createAlertStore(db),
    archives: createArchiveStore({ db, reports, rollups }),
    console: createConsoleStore(db),
    vaults: createVaultStore(db),
    migrate: async () => {
      await migrate(db);
      await fillUsage(db);
    },
    compareSchema: () => compareSchema(db),
    ping,
    readTime: async () => Date.now(),
    close: () => (closing ??= rollups.close().then(() => db.destroy())),
  };
}
