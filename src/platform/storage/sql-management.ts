import type { Change, ManagementStore, ManagementTransaction } from './ports/management.ts';
import { deleteAlertSetting, listAlertSettings, putAlertSetting } from './tables/alert-settings.ts';
import { appendNextAudit, listAudit } from './tables/audit.ts';
import { deleteBudgetRow, listBudgetRows, putBudgetRow } from './tables/budgets.ts';
import { addCredit, deleteCredits, readCredits } from './tables/credits.ts';
import type { Database } from './tables/database.ts';
import {
  assign,
  deleteGuardrailRow,
  findAssigned,
  findGuardrail,
  listAssignments,
  listGuardrailRows,
  saveGuardrail,
  unassign,
} from './tables/guardrails.ts';
import { countInterns } from './tables/interns.ts';
import { lockJobRow } from './tables/jobs.ts';
import {
  countKeys,
  deleteInternKeyRows,
  deleteKeyRow,
  findKeyRow,
  findKeyOwners,
  listInferenceKeys,
  insertKeyRow,
} from './tables/keys.ts';
import {
  findMember,
  findWorkspaceMembers,
  joinWorkspace,
  leaveWorkspace,
  listMemberPage,
  listWorkspaceMembers,
  saveMember,
} from './tables/members.ts';
import {
  addPresetVersion,
  deletePresetRow,
  findDesignatedVersion,
  findPresetRow,
  findPresetVersion,
  listPresetRows,
  listPresetVersionRows,
  savePreset,
} from './tables/presets.ts';
import { changeAccess } from './tables/revisions.ts';
import {
  deleteWorkspaceRows,
  findDefaultWorkspace,
  findWorkspaceRow,
  findWorkspaceByName,
  listWorkspaceDetails,
  saveWorkspace,
} from './tables/workspaces.ts';

/** Creates the management store over either dialect. */
export function createManagementStore(db: Database): ManagementStore {
  return {
    findKey: (hash) => findKeyRow(db, hash),
    listKeys: (query) => listInferenceKeys(db, query),
    findWorkspace: (id) => findWorkspaceRow(db, id),
    listWorkspaces: (page) => listWorkspaceDetails(db, page),
    listBudgets: (workspaceId) => listBudgetRows(db, workspaceId),
    listWorkspaceMembers: (workspaceId, page) => listWorkspaceMembers(db, workspaceId, page),
    findMember: (id) => findMember(db, id),
    listMembers: (page) => listMemberPage(db, page),
    findGuardrail: (id) => findGuardrail(db, id),
    listGuardrails: (query) => listGuardrailRows(db, query),
    listAssignments: (query) => listAssignments(db, query),
    listPresets: (workspaceId, page) => listPresetRows(db, workspaceId, page),
    findPreset: (workspaceId, slug) => findPresetRow(db, workspaceId, slug),
    listPresetVersions: (presetId, page) => listPresetVersionRows(db, presetId, page),
    findPresetVersion: (presetId, version) => findPresetVersion(db, presetId, version),
    findDesignatedVersion: (versionId) => findDesignatedVersion(db, versionId),
    readCredits: () => readCredits(db),
    listAlertSettings: () => listAlertSettings(db),
    listAudit: (page) => listAudit(db, page),
    async change<Result>(
      { atMs, actorKeyHash }: Change,
      work: (transaction: ManagementTransaction) => Promise<Result>,
    ): Promise<Result> {
      let result!: Result; // set before changeAccess returns
      await changeAccess(db, async (trx) => {
        let recorded = false;
        result = await work(
          openTransaction(trx, async (happening) => {
            recorded = true;
            await appendNextAudit(trx, { atMs, actorKeyHash }, happening);
          }),
        );
        return recorded;
      });
      return result;
    },
  };
}

function openTransaction(trx: Database, record: ManagementTransaction['record']): ManagementTransaction {
  return {
    findKey: (hash) => findKeyRow(trx, hash),
    putKey: async (key) => void (await insertKeyRow(trx, key)),
    async deleteKey(hash) {
      await unassign(trx, { kind: 'key', holder: hash });
      await deleteKeyRow(trx, hash);
    },
    async deleteInternKeys(internId) {
      const keys = await deleteInternKeyRows(trx, internId);
      for (const { hash } of keys) await unassign(trx, { kind: 'key', holder: hash });
      return keys;
    },
    listKeys: (query) => listInferenceKeys(trx, query),
    countKeys: (workspaceId) => countKeys(trx, workspaceId),
    findKeyOwners: (workspaceId, memberIds) => findKeyOwners(trx, workspaceId, memberIds),
    findWorkspace: (id) => findWorkspaceRow(trx, id),
    listWorkspaces: (page) => listWorkspaceDetails(trx, page),
    findWorkspaceByName: (name) => findWorkspaceByName(trx, name),
    findDefaultWorkspace: (name) => findDefaultWorkspace(trx, name),
    saveWorkspace: (workspace) => saveWorkspace(trx, workspace),
    deleteWorkspace: (id) => deleteWorkspaceRows(trx, id),
    listBudgets: (workspaceId) => listBudgetRows(trx, workspaceId),
    putBudget: (budget) => putBudgetRow(trx, budget),
    deleteBudget: (workspaceId, interval) => deleteBudgetRow(trx, workspaceId, interval),
    findMember: (id) => findMember(trx, id),
    saveMember: (member) => saveMember(trx, member),
    findWorkspaceMembers: (workspaceId, memberIds) => findWorkspaceMembers(trx, workspaceId, memberIds),
    joinWorkspace: (membership) => joinWorkspace(trx, membership),
    leaveWorkspace: (workspaceId, memberId) => leaveWorkspace(trx, workspaceId, memberId),
    findGuardrail: (id) => findGuardrail(trx, id),
    saveGuardrail: (guardrail) => saveGuardrail(trx, guardrail),
    deleteGuardrail: (id) => deleteGuardrailRow(trx, id),
    findAssigned: (holder) => findAssigned(trx, holder),
    assign: (assignment) => assign(trx, assignment),
    unassign: (holder) => unassign(trx, holder),
    listPresets: (workspaceId, page) => listPresetRows(trx, workspaceId, page),
    findPreset: (workspaceId, slug) => findPresetRow(trx, workspaceId, slug),
    listPresetVersions: (presetId, page) => listPresetVersionRows(trx, presetId, page),
    findPresetVersion: (presetId, version) => findPresetVersion(trx, presetId, version),
    findDesignatedVersion: (versionId) => findDesignatedVersion(trx, versionId),
    savePreset: (preset) => savePreset(trx, preset),
    addPresetVersion: (version) => addPresetVersion(trx, version),
    deletePreset: (id) => deletePresetRow(trx, id),
    addCredit: (credit) => addCredit(trx, credit),
    deleteCredits: () => deleteCredits(trx),
    listAlertSettings: () => listAlertSettings(trx),
    putAlertSetting: (setting) => putAlertSetting(trx, setting),
    deleteAlertSetting: (name) => deleteAlertSetting(trx, name),
    lockJob: (lease) => lockJobRow(trx, lease),
    countInterns: (workspaceId) => countInterns(trx, workspaceId),
    record,
  };
}
