import type { Kysely } from 'kysely';
import type { AuditTable } from './audit.ts';
import type { BudgetTable } from './budgets.ts';
import type { ContainerEntryTable } from './container-entries.ts';
import type { ContainerLeaseTable, ContainerTable } from './containers.ts';
import type { ContentTable } from './contents.ts';
import type { CreditTable } from './credits.ts';
import type { FeedbackTable } from './feedback.ts';
import type { FileTable } from './files.ts';
import type { GuardrailAssignmentTable, GuardrailTable } from './guardrails.ts';
import type { InternScheduleRunTable } from './intern-schedule-runs.ts';
import type { InternScheduleTable } from './intern-schedules.ts';
import type { InternTable } from './interns.ts';
import type { JobTable } from './jobs.ts';
import type { KeyTable } from './keys.ts';
import type { LedgerTable } from './ledger.ts';
import type { LedgerLineTable } from './ledger-lines.ts';
import type { MembershipTable, MemberTable } from './members.ts';
import type { FileQueueTable, FileTextTable, PassageTable } from './passages.ts';
import type { PresetRowTable, PresetVersionTable } from './presets.ts';
import type { RevisionTable } from './revisions.ts';
import type { SpendingTable } from './spending.ts';
import type { VaultSecretTable } from './vault-secrets.ts';
import type { VaultKeyTable, VaultTable } from './vaults.ts';
import type { WorkspaceTable } from './workspaces.ts';

/** All tables, the same in both dialects. Integer columns are read as `bigint`, flags are 0 or 1. */
export interface Tables {
  keys: KeyTable;
  workspaces: WorkspaceTable;
  members: MemberTable;
  memberships: MembershipTable;
  budgets: BudgetTable;
  guardrails: GuardrailTable;
  guardrail_assignments: GuardrailAssignmentTable;
  presets: PresetRowTable;
  preset_versions: PresetVersionTable;
  ledger: LedgerTable;
  ledger_lines: LedgerLineTable;
  spending: SpendingTable;
  revisions: RevisionTable;
  credits: CreditTable;
  audit: AuditTable;
  contents: ContentTable;
  feedback: FeedbackTable;
  files: FileTable;
  file_queue: FileQueueTable;
  file_texts: FileTextTable;
  passages: PassageTable;
  containers: ContainerTable;
  container_leases: ContainerLeaseTable;
  container_entries: ContainerEntryTable;
  interns: InternTable;
  intern_schedules: InternScheduleTable;
  intern_schedule_runs: InternScheduleRunTable;
  jobs: JobTable;
  vaults: VaultTable;
  vault_keys: VaultKeyTable;
  vault_secrets: VaultSecretTable;
}

/** A connection, a pool or a transaction: what the functions of `tables/` run on. */
export type Database = Kysely<Tables>;
