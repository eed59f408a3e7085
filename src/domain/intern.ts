/** All statuses of an intern. @see docs/reference/interns.md#states */
export const internStatuses = [
  'awaiting_chat_install',
  'queued',
  'provisioning',
  'running',
  'failed',
  'stopped',
  'destroying',
  'destroy_failed',
] as const;
export type InternStatus = (typeof internStatuses)[number];

/**
 * The cause of a change of an intern. Callers cause the first four. The process that owns the intern causes `take`,
 * `step`, `start`, `fail`, `lose`, `finish_teardown` and `fail_teardown`.
 */
export type InternTrigger =
  | 'provision'
  | 'suspend'
  | 'update'
  | 'delete'
  | 'take'
  | 'step'
  | 'start'
  | 'fail'
  | 'lose'
  | 'finish_teardown'
  | 'fail_teardown';

/** The status after a trigger. `gone`: the row is deleted. */
export type NextStatus = InternStatus | 'gone';

/**
 * All states and transitions. A trigger that a status lacks is refused. The same status as before means that the trigger is
 * accepted and leaves the status.
 *
 * @see docs/reference/interns.md#states
 */
export const internTransitions: Readonly<Record<InternStatus, Readonly<Partial<Record<InternTrigger, NextStatus>>>>> = {
  awaiting_chat_install: { provision: 'queued', update: 'awaiting_chat_install', delete: 'destroying' },
  queued: { take: 'provisioning', fail: 'failed', update: 'queued', delete: 'destroying' },
  provisioning: {
    take: 'provisioning', // by another process, after the owner has ended
    step: 'provisioning',
    start: 'running',
    fail: 'failed',
    update: 'provisioning',
    delete: 'destroying',
  },
  running: { suspend: 'stopped', lose: 'failed', update: 'running', delete: 'destroying' },
  failed: { provision: 'queued', update: 'failed', delete: 'destroying' },
  stopped: { provision: 'queued', suspend: 'stopped', update: 'stopped', delete: 'destroying' },
  destroying: { delete: 'destroying', finish_teardown: 'gone', fail_teardown: 'destroy_failed' },
  destroy_failed: { delete: 'destroying' },
};

/** Returns the statuses in which a trigger is accepted. */
export const listStatusesBefore = (trigger: InternTrigger): InternStatus[] =>
  internStatuses.filter((status) => internTransitions[status][trigger] !== undefined);

/** The steps of provisioning, in their order. `progress.stepLabel` has them. */
export const provisioningSteps = [
  'Create credentials',
  'Prepare workspace disk',
  'Start runtime',
  'Health check',
] as const;

/** An intern: an agent of a workspace with its own vault and home folder. */
export interface Intern {
  /** UUID. */
  id: string;
  workspaceId: string;
  /** The member that created it. */
  creatorId: string;
  /** Unique for its creator in its workspace. */
  name: string;
  description: string | null;
  /** Standing instructions. Provisioning reads them; restarts of the runtime do not. */
  instructions: string | null;
  /** Slug of its model; null: the default of the workspace. Provisioning reads it; restarts of the runtime do not. */
  model: string | null;
  status: InternStatus;
  /** Without a scheme and a port. Null before its first provisioning. */
  hostname: string | null;
  /** Id of its own vault, chosen with the row. */
  vaultId: string;
  /** Whether its vault has been created. */
  hasVault: boolean;
  /** The vault of another intern that it borrows. */
  attachedVaultId: string | null;
  /** Number of the current step of provisioning, from 1; null: it is not being provisioned. */
  step: number | null;
  /** Why provisioning, its runtime or its teardown failed last; null after the next attempt begins. */
  lastFailureMessage: string | null;
  /** The cause of `destroy_failed`, such as `workspace_archive_failed`. */
  failureReason: string | null;
  /** Where the runtime accepts requests, while it runs. Only the runtime reads it. */
  runtimeAddress: string | null;
  /** Whether `suspend` waits for the owner of the intern to stop its runtime. */
  isStopRequested: boolean;
  /** Whether its teardown may lose its home folder. */
  acknowledgesLoss: boolean;
  createdAtMs: number;
  updatedAtMs: number;
}

/** The teardown of an intern could not save its home folder. Only a delete that accepts the loss continues. */
export const WORKSPACE_ARCHIVE_FAILED = 'workspace_archive_failed';

/** Whether a host name is one of `interns.domain`. */
export const isBelowDomain = (hostname: string, domain: string): boolean => hostname.endsWith(`.${domain}`);

/** The kind of the jobs of interns. */
export const INTERN_JOB = 'intern';

/** Creates the job of an intern. Its owner is the process that provisions, runs, stops and removes the intern. */
export const createInternJob = (internId: string, dueAtMs: number) => ({
  id: `${INTERN_JOB}:${internId}`,
  kind: INTERN_JOB,
  payload: JSON.stringify({ intern_id: internId }),
  dueAtMs,
});
