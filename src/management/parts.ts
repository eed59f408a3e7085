import type { InputFilterParts } from '../guardrails/inspect-run.ts';
import type { AccessStore } from '../platform/storage/ports/access.ts';
import type { SpendingStore } from '../platform/storage/ports/spending.ts';
import type { ModulePlugins } from '../requests/module-plugins.ts';
import type { ManagementStore, ManagementTransaction } from '../platform/storage/ports/management.ts';

/** The dependencies of the use cases. */
export interface ManagementParts {
  management: ManagementStore;
  access: Pick<AccessStore, 'listKeys' | 'listAppliedGuardrails'>;
  ledger: Pick<SpendingStore, 'readSpending'>;
  /** The parts of content filters that all guardrails share. */
  contentFilters: Pick<InputFilterParts, 'sets' | 'entities'>;
  /** Unix milliseconds. */
  now: () => number;
  /** Called after each change. A gateway reloads its keys and notifies the other processes. */
  onChange: () => Promise<void>;
  /** Loads the operator's plugins, to check settings that name them. Absent: there are none. */
  loadModules?: () => Promise<ModulePlugins>;
}

/** The party that makes a change. The audit log names its key. */
export interface Actor {
  /** The hash of a management key. Null: the operator at the command line, which can also change management keys. */
  keyHash: string | null;
}

/** A change in progress: one transaction, at one time. Its steps must use the transaction alone. */
export interface Edit {
  transaction: ManagementTransaction;
  nowMs: number;
}
