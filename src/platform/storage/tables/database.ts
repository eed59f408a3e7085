import type { ColumnType, GeneratedAlways, Kysely } from 'kysely';
import type { ScheduledRunStatus } from '../../../domain/intern-schedule.ts';
import type { InternStatus } from '../../../domain/intern.ts';
import type { LedgerEntry, LedgerLine } from '../../../domain/ledger-entry.ts';
import type { PresetStatus } from '../../../domain/preset.ts';
import type { ArchiveState } from '../ports/archives.ts';
import type { BudgetInterval } from '../ports/budgets.ts';
import type { GuardrailAssignee } from '../ports/guardrails.ts';
import type { KeyRecord, LimitReset } from '../ports/keys.ts';
import type { WorkspaceMemberRecord } from '../ports/members.ts';
import type { VaultRecord } from '../ports/vaults.ts';
import type { Integer, NullableInteger } from './columns.ts';
import type { PartColumns } from './part-columns.ts';
import type { RateColumns } from './rate-columns.ts';
import type { CountColumn, dimensionColumns } from './rollups.ts';

/** All tables, the same in both dialects. Integer columns are read as `bigint`, flags are 0 or 1. */
export interface Tables {
  alerts: AlertTable;
  alert_settings: AlertSettingTable;
  console_sessions: ConsoleSessionTable;
  console_links: ConsoleLinkTable;
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
  ledger_archives: LedgerArchiveTable;
  ledger_lines: LedgerLineTable;
  late_entries: LateEntryTable;
  spending: SpendingTable;
  revisions: RevisionTable;
  rollup_queue: RollupQueueTable;
  rollups: RollupTable;
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

/** Alerts that were raised. */
export interface AlertTable {
  id: string;
  kind: string;
  message: string;
  /** JSON. */
  data: string;
  at_ms: Integer;
  count: Integer;
}

/** Settings of alerts that the API has stored. */
export interface AlertSettingTable {
  name: string;
  value: string;
}

/** People who are signed in to the console. */
export interface ConsoleSessionTable {
  id: string;
  token_hash: string;
  key_hash: string;
  client: string;
  created_at_ms: Integer;
  seen_at_ms: Integer;
}

/** Links that sign a person in once. */
export interface ConsoleLinkTable {
  token_hash: string;
  key_hash: string;
  expires_at_ms: Integer;
}

export interface AuditTable {
  id: string;
  /** Grows with every entry of all processes, because the clocks of hosts may differ. */
  sequence: Integer;
  at_ms: Integer;
  actor_key_hash: string | null;
  action: string;
  object_kind: string;
  object_id: string;
  workspace_id: string | null;
  /** JSON: field → `{ before, after }`. */
  changes: string;
}

/** Budgets of workspaces, at most one for each interval. */
export interface BudgetTable {
  id: string;
  workspace_id: string;
  reset_interval: BudgetInterval;
  limit_nano_usd: Integer;
  created_at_ms: Integer;
  updated_at_ms: Integer;
}

type Bytes = ColumnType<Uint8Array, Buffer, Buffer>;

export interface ContainerEntryTable {
  container_key: string;
  path: Bytes;
  /** Index in `kinds` of container-entries.ts. */
  kind: Integer;
  /** Whether lists of files omit it. */
  hidden: Integer;
  deleted: Integer;
  bytes: Integer;
  mode: Integer;
  modified_at_ms: Integer;
  saved_at_ms: Integer;
  version: Integer;
  target: ColumnType<Uint8Array | null, Buffer | null, Buffer | null>;
  object: string | null;
  /** Offset of the content in the object. */
  place: Integer;
}

export interface ContainerLeaseTable {
  token: string;
  container_key: string;
  compute: string;
  holder: string;
  policy: string;
  started_at_ms: Integer;
  until_ms: Integer;
  /** Index of `stops`. */
  stop: Integer;
}

export interface ContainerTable {
  key: string;
  workspace_id: string;
  id: string;
  created_at_ms: Integer;
  used_at_ms: Integer;
  version: Integer;
  bytes: Integer;
  entries: Integer;
}

export interface ContentTable {
  id: string;
  workspace_id: string;
  created_at_ms: Integer;
  /** JSON, like the next two columns. */
  input: string;
  output: string;
  error: string | null;
  is_cut: Integer;
}

/** Credits of the organization. Negative if credit is withdrawn. */
export interface CreditTable {
  id: string;
  at_ms: Integer;
  nano_usd: Integer;
  note: string | null;
}

export interface FeedbackTable {
  /** Sorts by time. */
  id: string;
  generation_id: string;
  /** The workspace of the generation. */
  workspace_id: string;
  category: string;
  comment: string | null;
  actor_key_hash: string;
  created_at_ms: Integer;
}

export interface FileTable {
  id: string;
  workspace_id: string;
  filename: string;
  mime_type: string;
  bytes: Integer;
  sha256: string;
  downloadable: Integer;
  purpose: string | null;
  created_at_ms: Integer;
}

/** The guardrail of a key or a member; at most one. */
export interface GuardrailAssignmentTable {
  kind: GuardrailAssignee['kind'];
  /** The hash of the key, or the id of the member. */
  holder: string;
  guardrail_id: string;
  created_at_ms: Integer;
}

export interface GuardrailTable {
  id: string;
  workspace_id: string;
  name: string;
  description: string | null;
  /** `GuardrailRules` as JSON; a missing rule restricts nothing. */
  rules: string;
  limit_nano_usd: NullableInteger;
  reset_interval: LimitReset | null;
  include_byok_in_budgets: Integer;
  created_at_ms: Integer;
  updated_at_ms: NullableInteger;
}

export interface InternScheduleRunTable {
  id: string;
  schedule_id: string;
  due_key: string;
  due_at_ms: Integer;
  input: string;
  status: ScheduledRunStatus;
  failure: string | null;
  added_at_ms: Integer;
  started_at_ms: NullableInteger;
  ended_at_ms: NullableInteger;
}

export interface InternScheduleTable {
  id: string;
  intern_id: string;
  kind: 'cron' | 'webhook';
  cron: string | null;
  time_zone: string | null;
  input: string;
  token_hash: string | null;
  is_paused: Integer;
  next_due_at_ms: NullableInteger;
  created_at_ms: Integer;
  updated_at_ms: Integer;
}

export interface InternTable {
  id: string;
  workspace_id: string;
  creator_id: string;
  name: string;
  description: string | null;
  instructions: string | null;
  model: string | null;
  status: InternStatus;
  hostname: string | null;
  vault_id: string;
  has_vault: Integer;
  attached_vault_id: string | null;
  step: NullableInteger;
  last_failure_message: string | null;
  failure_reason: string | null;
  runtime_address: string | null;
  is_stop_requested: Integer;
  acknowledges_loss: Integer;
  request_hash: string;
  body_hash: string;
  provisioned_model: string | null;
  provisioned_instructions: string | null;
  created_at_ms: Integer;
  updated_at_ms: Integer;
}

export interface JobTable {
  id: string;
  kind: string;
  payload: string;
  checkpoint: string | null;
  failures: Integer;
  wakes: Integer;
  due_at_ms: Integer;
  /** Number of claims. */
  fence: Integer;
  /** Null: no process has it. */
  holder: string | null;
  /** Number of renewals. */
  beats: Integer;
}

export interface KeyTable extends RateColumns {
  hash: string;
  name: string;
  label: string;
  kind: KeyRecord['kind'];
  workspace_id: string;
  member_id: string | null;
  disabled: Integer;
  created_at_ms: Integer;
  expires_at_ms: NullableInteger;
  limit_nano_usd: NullableInteger;
  limit_reset: LimitReset | null;
  include_byok_in_limit: Integer;
  updated_at_ms: NullableInteger;
  creator_user_id: string | null;
  external_user: string | null;
  from_bootstrap: Integer;
  intern_id: string | null;
}

/** Entries of archived days that were recorded afterwards. */
export interface LateEntryTable {
  id: string;
  day: Integer;
  workspace_id: string;
  /** JSON of a `LedgerEntry`. */
  entry: string;
}

/** @see `ArchiveStore` */
export interface LedgerArchiveTable {
  /** Days since 1970-01-01. */
  day: Integer;
  workspace_id: string;
  /** From 1 on. */
  part: Integer;
  state: ArchiveState;
  /** Entries and corrections. Null: they were not counted yet. */
  row_count: NullableInteger;
  /** JSON of `ArchiveFiles`. */
  files: string | null;
  /** Sums of the rows that were deleted. */
  deleted_rows: Integer;
  deleted_entries: Integer;
  deleted_input_tokens: Integer;
  deleted_output_tokens: Integer;
  deleted_cost_nano_usd: Integer;
}

export interface LedgerTable extends PartColumns {
  id: string;
  created_at_ms: Integer;
  workspace_id: string;
  key_hash: string;
  member_id: string | null;
  requested_model: string;
  outcome: LedgerEntry['outcome'];
  status: Integer;
  error_type: string | null;
  streamed: Integer;
  first_output_ms: NullableInteger;
  duration_ms: Integer;
  session_id: string | null;
  end_user: string | null;
  router: string | null;
  task: string | null;
  /** The entry that this one corrects; null: it is not a correction. */
  corrects: string | null;
  /**
   * When the correction was made. Its `created_at_ms` is that of the entry, so that it belongs to the day of the entry.
   */
  corrected_at_ms: NullableInteger;
  /** Null: a response. */
  api_type: LedgerEntry['apiType'] | null;
  /** Null: a caller made the request. */
  parent_id: string | null;
  /** JSON, with the keys in order. Null: it has no tags. */
  tags: string | null;
  /** JSON. Null: the other columns say it all. */
  history: string | null;
}

/** The parts of entries that have several. Written and deleted with their entry. */
export interface LedgerLineTable extends PartColumns {
  entry_id: string;
  /** From 0 on. */
  position: Integer;
  kind: LedgerLine['kind'];
  status: Integer;
}

/** A membership of a member in a workspace. */
export interface MembershipTable {
  member_id: string;
  workspace_id: string;
  role: WorkspaceMemberRecord['role'];
  created_at_ms: Integer;
}

export interface MemberTable extends RateColumns {
  id: string;
  created_at_ms: Integer;
}

/** Files whose passages are not up to date. Some of them are deleted. */
export interface FileQueueTable {
  file_id: string;
  workspace_id: string;
  tries: Integer;
  /** The end of a claim, or of a pause. */
  next_at_ms: Integer;
}

/** The outcome of each file. */
export interface FileTextTable {
  file_id: string;
  workspace_id: string;
  /** An `IndexState`. Null: it is being read. */
  state: string | null;
  passages: Integer;
}

/** In PostgreSQL, the table has also `words`. In SQLite, the words are in `passage_words`. */
export interface PassageTable {
  id: GeneratedAlways<bigint>;
  workspace_id: string;
  file_id: string;
  position: Integer;
  text: string;
}

export interface PresetRowTable {
  id: string;
  workspace_id: string;
  slug: string;
  name: string;
  description: string | null;
  status: PresetStatus;
  status_updated_at_ms: NullableInteger;
  designated_version_id: string;
  creator_member_id: string | null;
  created_at_ms: Integer;
  updated_at_ms: Integer;
}

export interface PresetVersionTable {
  id: string;
  preset_id: string;
  version: Integer;
  config: string;
  system_prompt: string | null;
  creator_id: string;
  created_at_ms: Integer;
}

/** Counters of changes for other processes: `access`, and `reductions` after the first one. */
export interface RevisionTable {
  name: string;
  value: Integer;
}

/** Entries that `rollups` lacks. @see rollup-queue.ts */
export interface RollupQueueTable {
  id: string;
  /** JSON: an array of ids of the ledger. */
  entry_ids: string;
}

/** Sums over the ledger. @see rollups.ts */
export type RollupTable = Record<(typeof dimensionColumns)[number], string> &
  Record<'level' | 'slot' | CountColumn | 'cost_nano_usd' | 'byok_nano_usd', Integer>;

/**
 * Spending by day (UTC): sums over the ledger, raised in the transaction that records an entry. An index by key over
 * the ledger would give the same sums, but every insert would take three times as long (13 instead of 4 µs).
 *
 * A row covers the days up to the next row. `foldSpendingRows` leaves only a few rows of each key, however old the key
 * is.
 */
export interface SpendingTable {
  key_hash: string;
  /** Days since 1970-01-01. */
  day: Integer;
  workspace_id: string;
  /** Empty: the key belongs to no member. */
  member_id: string;
  /** Without the cost of BYOK keys. */
  cost_nano_usd: Integer;
  /** The cost of BYOK keys. */
  byok_nano_usd: Integer;
}

export interface VaultSecretTable {
  vault_id: string;
  name: string;
  version: Integer;
  generation: Integer;
  /** JSON list. */
  hosts: string;
  /** JSON list. Null: an earlier build wrote the row. */
  locations: string | null;
  fingerprint: string;
  sealed: string;
  created_at_ms: Integer;
}

export interface VaultKeyTable {
  vault_id: string;
  generation: Integer;
  master_key_id: string;
  wrapped: string;
}

export interface VaultTable {
  id: string;
  workspace_id: string;
  kind: VaultRecord['kind'];
  generation: Integer;
  created_at_ms: Integer;
}

export interface WorkspaceTable {
  id: string;
  name: string;
  slug: string;
  created_at_ms: Integer;
  updated_at_ms: NullableInteger;
  /** `WorkspaceSettings` as JSON; a missing setting has its default. */
  settings: string;
}
