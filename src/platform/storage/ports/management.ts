import type { AlertSettingReader, AlertSettingWriter } from './alert-settings.ts';
import type { AuditEntry, AuditReader, AuditWriter } from './audit.ts';
import type { BudgetReader, BudgetWriter } from './budgets.ts';
import type { CreditReader, CreditWriter } from './credits.ts';
import type { GuardrailReader, GuardrailWriter } from './guardrails.ts';
import type { InternCounter } from './interns.ts';
import type { JobLease } from './jobs.ts';
import type { KeyReader, KeyWriter } from './keys.ts';
import type { MemberReader, MemberWriter } from './members.ts';
import type { PresetReader, PresetWriter } from './presets.ts';
import type { WorkspaceReader, WorkspaceWriter } from './workspaces.ts';

/**
 * All data that the management API reads and changes. Keys and workspaces are those of `AccessStore`, with all their
 * settings. Every change raises the revision of `AccessStore` and writes its audit entries in the same transaction.
 */
export interface ManagementStore
  extends KeyReader,
    WorkspaceReader,
    MemberReader,
    BudgetReader,
    GuardrailReader,
    PresetReader,
    CreditReader,
    AlertSettingReader,
    AuditReader {
  /**
   * Runs a change in one transaction. All processes together run one change at a time. Rolls back if `work` throws, and
   * also if it records no audit entry.
   *
   * @param work must use only its transaction, because the embedded store has one connection
   */
  change<Result>(change: Change, work: (transaction: ManagementTransaction) => Promise<Result>): Promise<Result>;
}

export type Change = Pick<AuditEntry, 'atMs' | 'actorKeyHash'>;

/** A change that only the owner of a job may make. */
export interface JobGuard {
  /** Whether the lease is valid. It stays valid until the change ends. */
  lockJob(lease: JobLease): Promise<boolean>;
}

/** Reads and writes of a change. Each write needs a `record`. */
export interface ManagementTransaction
  extends KeyWriter,
    WorkspaceWriter,
    MemberWriter,
    BudgetWriter,
    GuardrailWriter,
    PresetWriter,
    CreditWriter,
    AlertSettingWriter,
    InternCounter,
    JobGuard,
    AuditWriter {}
