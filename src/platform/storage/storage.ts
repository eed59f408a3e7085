import type { KeyKind } from '../../domain/caller.ts';
import type { ContentRecord } from '../../domain/content-record.ts';
import type { GuardrailRules } from '../../domain/guardrail.ts';
import type { RecordedEntry, LedgerEntry } from '../../domain/ledger-entry.ts';
import { noRateLimits, type RateLimits } from '../../domain/rate-limits.ts';

/**
 * What must be kept. One embedded adapter (`sqlite/`) and one for several hosts (`postgres/`), the same migrations and
 * the same `contract.ts` for both. Nothing on the way of a request waits for it: `access/` and `metering/` work in
 * memory and come here behind the caller's back.
 *
 * All methods reject with the driver's error when the store cannot be reached.
 */
export interface Storage {
  readonly access: AccessStore;
  readonly ledger: LedgerStore;
  readonly management: ManagementStore;
  readonly contents: ContentStore;
  /** Brings the schema up to date; safe when several processes do it at once. */
  migrate(): Promise<void>;
  /** What `migrate` would find. Changes nothing. */
  compareSchema(): Promise<SchemaState>;
  /** Resolves when the store responds. A database is read-only on a standby, for example. */
  ping(): Promise<'writable' | 'read-only'>;
  /** Unix milliseconds by the clock of the store; that of the host which has it, where it is embedded. */
  readTime(): Promise<number>;
  close(): Promise<void>;
}

export interface SchemaState {
  /** Nothing was made yet. */
  isEmpty: boolean;
  /** It lacks something of this build. */
  isOlder: boolean;
  /** Why this build cannot use it; undefined: it can. */
  problem: SchemaProblem | undefined;
}
export interface SchemaProblem {
  /** A clause, without a subject: "has the schema of …". */
  says: string;
  /** A sentence. */
  remedy: string;
}

export interface KeyRecord {
  /** SHA-256 of the whole key, lower-case hex: all that is kept of it. */
  hash: string;
  name: string;
  /** For people: prefix, dots, last characters. */
  label: string;
  kind: KeyKind;
  workspaceId: string;
  /** Set for `member` keys alone. */
  memberId: string | null;
  disabled: boolean;
  createdAtMs: number;
  /** The last change of its settings; null before the first. */
  updatedAtMs: number | null;
  expiresAtMs: number | null;
  /** Nano-dollars that it may spend in a window; null: no limit of its own. */
  limitNanoUsd: bigint | null;
  /** When the window begins anew, in UTC, weeks on Monday; null: never. */
  limitReset: LimitReset | null;
  includeByokInLimit: boolean;
  rateLimits: RateLimits;
  /** The member it was made for, or who made it. */
  creatorUserId: string | null;
  /** Whom an application of the operator's made it for: a name of theirs. */
  externalUser: string | null;
}
/** What a key has that nobody said more of. */
export const defaultKeySettings = {
  updatedAtMs: null,
  expiresAtMs: null,
  limitNanoUsd: null,
  limitReset: null,
  includeByokInLimit: false,
  rateLimits: noRateLimits,
  externalUser: null,
} as const satisfies Partial<KeyRecord>;
export type LimitReset = 'daily' | 'weekly' | 'monthly';
export interface WorkspaceRecord {
  id: string;
  name: string;
  createdAtMs: number;
}
export interface MemberRecord {
  id: string;
  createdAtMs: number;
  /** For all keys of the member together, in all workspaces. */
  rateLimits: RateLimits;
}

export interface AccessStore {
  /** A number that grows with every change of keys, workspaces, members and guardrails, by whichever process. */
  readRevision(): Promise<number>;
  listKeys(): Promise<KeyRecord[]>;
  listWorkspaces(): Promise<WorkspaceRecord[]>;
  listMembers(): Promise<MemberRecord[]>;
  /** Creates or replaces, by hash. Keeps `createdAtMs` of an existing row. */
  putKey(key: KeyRecord): Promise<void>;
  /** Hashes of the keys that `markBootstrapKey` was told of and that are there. In no order. */
  listBootstrapKeys(): Promise<string[]>;
  /** Remembers that a configuration brought the key, whatever becomes of it. */
  markBootstrapKey(hash: string): Promise<void>;
  /** @returns the key as it is now, or undefined when there is none with this hash */
  setKeyDisabled(hash: string, disabled: boolean): Promise<KeyRecord | undefined>;
  /** Creates or renames, by id. A new one gets a slug of its name that no other has. */
  putWorkspace(workspace: WorkspaceRecord): Promise<void>;
  /** Creates if absent, by id, without limits. */
  putMember(member: Pick<MemberRecord, 'id' | 'createdAtMs'>): Promise<void>;
  /** Replaces the limits of a workspace or a member that are named; the others stay. Unknown ids change nothing. */
  setRateLimits(holder: RateLimitHolder, limits: Partial<RateLimits>): Promise<void>;
  /** Makes the member belong to exactly these workspaces. */
  setMemberships(memberId: string, workspaceIds: readonly string[]): Promise<void>;
  listMemberships(): Promise<{ memberId: string; workspaceId: string }[]>;
  /** What workspaces say of the requests of their keys; those that say nothing are left out. In no order. */
  listAppliedSettings(): Promise<AppliedSettings[]>;
  /** All guardrails, and who has which. In no order. */
  listAppliedGuardrails(): Promise<AppliedGuardrails>;
}
/** Keys hold their limits in `KeyRecord`. */
export interface RateLimitHolder {
  kind: 'workspace' | 'member';
  id: string;
}
export interface AppliedSettings
  extends Pick<WorkspaceSettings, 'defaultTextModel' | 'defaultImageModel' | 'defaultProviderSort'> {
  workspaceId: string;
  /** Null: it wants no contents kept. */
  ioLogging: IoLogging | null;
  /** Null: it has none. */
  rateLimits: RateLimits | null;
}
/** How a workspace wants its contents kept. */
export interface IoLogging {
  /** From 0.0001 to 1. */
  samplingRate: number;
  /** Null: of all keys. @see access/key-text.ts, `deriveKeyNumber` */
  apiKeyIds: readonly number[] | null;
}
export interface AppliedGuardrails {
  guardrails: (GuardrailRecord & { workspaceName: string })[];
  assignments: AssignmentRecord[];
}

export interface LedgerStore {
  /** Books each entry once: an id that is there already is left as it is. All or none of them are durable on return. */
  append(entries: readonly LedgerEntry[]): Promise<void>;
  /**
   * @param workspaceId undefined: of any
   * @returns the entry with what corrections made of it, or undefined when there is none with this id
   */
  find(workspaceId: string | undefined, id: string): Promise<RecordedEntry | undefined>;
  /** Entries, the oldest first, each with what corrections made of it. */
  list(query: EntryQuery): Promise<RecordedEntry[]>;
  /** One page of the entries that match, the newest first, each with its corrections. Reads a bounded part of the ledger. */
  listRecent(query: RecentQuery): Promise<RecentPage>;
  /**
   * Books corrections, all or none of them: entries of their own, on the day of the entry that they correct. What was
   * corrected since it was read is left out.
   *
   * @returns how many were booked
   */
  correct(corrections: readonly Correction[], atMs: number): Promise<number>;
  /** How often corrections took something away, so that sums which else only grow became smaller. */
  readReductions(): Promise<number>;
  /** Sums over a workspace, or over all. */
  readTotals(workspaceId?: string): Promise<LedgerTotals>;
  /**
   * Sums by task and model over the answers from `sinceMs` on, of all workspaces: those that a model gave to the end
   * (`completed` or `incomplete`) and that have a price. In no order.
   *
   * @param sinceMs Unix milliseconds
   */
  readTraffic(sinceMs: number): Promise<TrafficRow[]>;
  /**
   * What each of these has spent from each of the days on: sums that grow with the ledger, in its transactions. Asked for
   * many at once, it takes no more than a statement for every 500 of a kind.
   *
   * @param sinceMs at least one; Unix milliseconds of the midnights (UTC) at which days began that `foldSpending` leaves
   *   apart. 0: ever
   * @returns in the order of the scopes
   */
  readSpending(scopes: readonly SpendingScope[], sinceMs: readonly number[]): Promise<SpendingSums[]>;
  /**
   * Puts days together whose sums nobody asks for apart any more, so that `readSpending` reads a few rows of a key, and not
   * one for every day of its life. What it says since one of these times, or any day after the last one, stays the same.
   *
   * @param startsMs Unix milliseconds of midnights (UTC), the earliest first; 0 is one of them
   * @returns how many rows went
   */
  foldSpending(startsMs: readonly number[]): Promise<number>;
  /** What was asked of whom, day by day (UTC): the entries that an endpoint answered. In no order. */
  readActivity(query: ActivityQuery): Promise<ActivityRow[]>;
}
export interface EntryQuery {
  /** Unix milliseconds, this one included. */
  fromMs?: number | undefined;
  /** Unix milliseconds, this one excluded. */
  toMs?: number | undefined;
  model?: string | undefined;
  /** By its id, or, of an entry that does not know it, by its display name. */
  provider?: { id: string; name: string } | undefined;
  /** Id of the last entry of the page before. */
  after?: string | undefined;
  /** At least 1. */
  limit: number;
}
/** Filters of `listRecent`. An absent one matches every entry. */
export interface RecentQuery {
  /** `next` of the page before. */
  before?: string | undefined;
  /** Unix milliseconds, inclusive. */
  fromMs?: number | undefined;
  /** Unix milliseconds, exclusive. */
  toMs?: number | undefined;
  workspaceId?: string | undefined;
  keyHash?: string | undefined;
  memberId?: string | undefined;
  /** The model that responded, or the one that was requested. */
  model?: string | undefined;
  /** Id or display name. */
  provider?: string | undefined;
  outcomes?: readonly LedgerEntry['outcome'][] | undefined;
  sessionId?: string | undefined;
  /** At least 1. */
  limit: number;
}
export interface RecentPage {
  /** Can be fewer than the limit, or none, although there are more. */
  entries: RecordedEntry[];
  /** For `before` of the next page. Undefined: this is the last page. */
  next: string | undefined;
}
/** What an entry's cost was too little (or, below 0, too much), as it stood when it was read. */
export interface Correction {
  entry: RecordedEntry;
  costNanoUsd: bigint;
  inputCostNanoUsd: bigint;
  /** Of `costNanoUsd` what goes to lines of the other kind of key than the entry's. */
  otherKeysNanoUsd?: bigint;
}
/** `everything`: all workspaces. */
export type SpendingScope = { keyHash: string } | { memberId: string } | { workspaceId: string } | 'everything';
/** Sums since several days, in their order. */
export interface SpendingSums {
  /** Without what own provider keys have cost. */
  costNanoUsd: bigint[];
  byokNanoUsd: bigint[];
}
export interface ActivityQuery {
  /** Unix milliseconds, this one included. */
  fromMs: number;
  /** Unix milliseconds, this one excluded. */
  toMs: number;
  workspaceId?: string | undefined;
  keyHash?: string | undefined;
  memberId?: string | undefined;
  /** A row for each workspace; otherwise their `workspaceId` is null. */
  byWorkspace?: boolean;
}
export interface ActivityRow {
  /** Days since 1970-01-01. */
  day: number;
  workspaceId: string | null;
  model: string;
  /** Display name. */
  provider: string;
  requests: number;
  /** Without what own provider keys have cost. */
  costNanoUsd: bigint;
  byokNanoUsd: bigint;
  inputTokens: bigint;
  outputTokens: bigint;
  reasoningTokens: bigint;
}
export interface LedgerTotals {
  entries: number;
  inputTokens: bigint;
  outputTokens: bigint;
  costNanoUsd: bigint;
}
export interface TrafficRow {
  /** Null: no router looked at what these were about. */
  task: string | null;
  model: string;
  answers: number;
  costNanoUsd: bigint;
  inputCostNanoUsd: bigint;
  inputTokens: bigint;
}

/** Inputs and outputs, for workspaces that want them kept, and what people say of generations. */
export interface ContentStore {
  /** Keeps each content once: an id that is there already is left as it is. All or none of them are durable on return. */
  append(contents: readonly ContentRecord[]): Promise<void>;
  /** @returns undefined also when its workspace is gone */
  find(id: string): Promise<ContentRecord | undefined>;
  /**
   * Deletes the oldest of those that were made before a time.
   *
   * @param most that go at once, so that no lock is held for long
   * @returns how many went
   */
  deleteBefore(beforeMs: number, max: number): Promise<number>;
  /** @returns false when the ledger has no such generation: then nothing is kept */
  addFeedback(feedback: FeedbackRecord): Promise<boolean>;
  /** The newest first. */
  listFeedback(query: FeedbackQuery): Promise<Listed<FeedbackRecord & { workspaceId: string }>>;
}
export interface FeedbackRecord {
  id: string;
  generationId: string;
  category: string;
  comment: string | null;
  /** The management key that sent it. */
  actorKeyHash: string;
  createdAtMs: number;
}
export interface FeedbackQuery extends Page {
  generationId?: string | undefined;
}

/**
 * What the management API reads and changes. Keys and workspaces are those of `AccessStore`, with all their settings.
 * Every change raises the revision of `AccessStore` and leaves its audit entries, in one transaction.
 */
export interface ManagementStore {
  /** Inference and management keys alike. */
  findKey(hash: string): Promise<KeyRecord | undefined>;
  /** Inference keys alone, the newest first. */
  listKeys(query: KeyQuery): Promise<KeyRecord[]>;
  /** @param id of it, or its slug; an id outweighs a slug */
  findWorkspace(id: string): Promise<WorkspaceDetails | undefined>;
  /** Oldest first. */
  listWorkspaces(page: Page): Promise<Listed<WorkspaceDetails>>;
  /** The broadest first. @param workspaceId undefined: of all workspaces */
  listBudgets(workspaceId?: string): Promise<BudgetRecord[]>;
  /** Oldest first. */
  listWorkspaceMembers(workspaceId: string, page: Page): Promise<Listed<WorkspaceMemberRecord>>;
  findMember(id: string): Promise<MemberRecord | undefined>;
  /** Oldest first. */
  listMembers(page: Page): Promise<Listed<MemberRecord>>;
  findGuardrail(id: string): Promise<GuardrailRecord | undefined>;
  /** Oldest first. */
  listGuardrails(query: GuardrailQuery): Promise<Listed<GuardrailRecord>>;
  /** Oldest first. */
  listAssignments(query: AssignmentQuery): Promise<Listed<ListedAssignment>>;
  /** What was paid in for the organization, in nano-dollars; null when nothing ever was. */
  readCredits(): Promise<bigint | null>;
  /** The newest first. */
  listAudit(page: Page): Promise<Listed<AuditEntry>>;
  /**
   * Runs a change in one transaction, one at a time over all processes. It is undone when `work` throws, and also when
   * it records nothing: what nobody can read of afterwards does not happen.
   *
   * @param work must ask its transaction alone: the embedded store has one connection
   */
  change<Result>(change: Change, work: (transaction: ManagementTransaction) => Promise<Result>): Promise<Result>;
}
export interface Change {
  atMs: number;
  /** The management key that asked for it; null for the operator's command line. */
  actorKeyHash: string | null;
}
export interface Page {
  offset: number;
  limit: number;
}
export interface Listed<Row> {
  rows: Row[];
  /** Of all pages. */
  total: number;
}
export interface KeyQuery extends Page {
  workspaceId?: string | undefined;
  includeDisabled: boolean;
}

/** What a change may ask and do. Each method that changes must be told by `record`. */
export interface ManagementTransaction {
  findKey(hash: string): Promise<KeyRecord | undefined>;
  /** Inference keys alone, the newest first. */
  listKeys(query: KeyQuery): Promise<KeyRecord[]>;
  /** Creates or replaces, by hash. */
  putKey(key: KeyRecord): Promise<void>;
  /** With its assignment; its ledger entries stay. */
  deleteKey(hash: string): Promise<void>;
  /** Inference keys of a workspace, disabled and expired ones included. */
  countKeys(workspaceId: string): Promise<number>;
  /** Those of the members who have a key in the workspace that is not disabled. */
  findKeyOwners(workspaceId: string, memberIds: readonly string[]): Promise<string[]>;
  findWorkspace(id: string): Promise<WorkspaceDetails | undefined>;
  listWorkspaces(page: Page): Promise<Listed<WorkspaceDetails>>;
  /** The one whose name it is. */
  findWorkspaceByName(name: string): Promise<WorkspaceDetails | undefined>;
  /** The one that is named so, or else the oldest. */
  findDefaultWorkspace(name: string): Promise<WorkspaceDetails | undefined>;
  /** Creates or replaces, by id. */
  saveWorkspace(workspace: WorkspaceDetails): Promise<void>;
  /** With its budgets, guardrails and memberships. */
  deleteWorkspace(id: string): Promise<void>;
  listBudgets(workspaceId: string): Promise<BudgetRecord[]>;
  /** Creates or replaces, by workspace and interval. */
  putBudget(budget: BudgetRecord): Promise<void>;
  deleteBudget(workspaceId: string, interval: BudgetInterval): Promise<void>;
  findMember(id: string): Promise<MemberRecord | undefined>;
  /** Creates or replaces, by id. */
  saveMember(member: MemberRecord): Promise<void>;
  findWorkspaceMembers(workspaceId: string, memberIds: readonly string[]): Promise<WorkspaceMemberRecord[]>;
  joinWorkspace(membership: WorkspaceMemberRecord): Promise<void>;
  leaveWorkspace(workspaceId: string, memberId: string): Promise<void>;
  findGuardrail(id: string): Promise<GuardrailRecord | undefined>;
  /** Creates or replaces, by id; the workspace stays. */
  saveGuardrail(guardrail: GuardrailRecord): Promise<void>;
  /** With its assignments. */
  deleteGuardrail(id: string): Promise<void>;
  /** @returns the id of the guardrail that a key or a member has */
  findAssigned(holder: GuardrailAssignee): Promise<string | undefined>;
  /** In the place of the one that the key or the member had. */
  assign(assignment: AssignmentRecord): Promise<void>;
  unassign(holder: GuardrailAssignee): Promise<void>;
  addCredit(credit: CreditRecord): Promise<void>;
  /** Credits are off from then on, as if none had ever been added. */
  deleteCredits(): Promise<void>;
  record(happening: AuditEvent): Promise<void>;
}

export interface CreditRecord {
  id: string;
  atMs: number;
  /** Below zero where it is taken back. */
  nanoUsd: bigint;
  note: string | null;
}

export interface WorkspaceDetails extends WorkspaceRecord {
  slug: string;
  updatedAtMs: number | null;
  settings: WorkspaceSettings;
}
export interface WorkspaceSettings {
  description: string | null;
  defaultTextModel: string | null;
  defaultImageModel: string | null;
  defaultProviderSort: string | null;
  ioLogging: boolean;
  broadcast: boolean;
  dataDiscountLogging: boolean;
  /** From 0.0001 to 1. */
  ioLoggingSamplingRate: number;
  /** Null: all keys. */
  ioLoggingApiKeyIds: number[] | null;
  includeByokInBudgets: boolean;
  /** For all keys of the workspace together. */
  rateLimits: RateLimits;
}
export const defaultWorkspaceSettings: Readonly<WorkspaceSettings> = {
  description: null,
  defaultTextModel: null,
  defaultImageModel: null,
  defaultProviderSort: null,
  ioLogging: false,
  broadcast: false,
  dataDiscountLogging: false,
  ioLoggingSamplingRate: 1,
  ioLoggingApiKeyIds: null,
  includeByokInBudgets: false,
  rateLimits: noRateLimits,
};

export type BudgetInterval = LimitReset | 'lifetime';
/** The broadest first. */
export const budgetIntervals: readonly BudgetInterval[] = ['lifetime', 'monthly', 'weekly', 'daily'];
export interface BudgetRecord {
  id: string;
  workspaceId: string;
  interval: BudgetInterval;
  limitNanoUsd: bigint;
  createdAtMs: number;
  updatedAtMs: number;
}

export interface WorkspaceMemberRecord {
  workspaceId: string;
  memberId: string;
  role: 'admin' | 'member';
  createdAtMs: number;
}

/** A default guardrail has an id that is made of its workspace's, and holds for all its keys. */
export interface GuardrailRecord {
  id: string;
  workspaceId: string;
  name: string;
  description: string | null;
  rules: GuardrailRules;
  /** What each key and each member who has it may spend in a window; both null: no limit. */
  limitNanoUsd: bigint | null;
  resetInterval: LimitReset | null;
  includeByokInBudgets: boolean;
  createdAtMs: number;
  updatedAtMs: number | null;
}
export interface GuardrailQuery extends Page {
  workspaceId?: string | undefined;
}
/** Who can have a guardrail of their own. */
export interface GuardrailAssignee {
  kind: 'key' | 'member';
  /** The hash of the key, the id of the member. */
  holder: string;
}
export interface AssignmentRecord extends GuardrailAssignee {
  guardrailId: string;
  createdAtMs: number;
}
export interface AssignmentQuery extends Page {
  kind: GuardrailAssignee['kind'];
  /** Absent: of all guardrails. */
  guardrailId?: string | undefined;
}
export interface ListedAssignment extends AssignmentRecord {
  /** Of a key. */
  keyName: string | null;
  keyLabel: string | null;
}

/** What was done to what. */
export interface AuditEvent {
  /** `key.create`, `workspace.update`, … */
  action: string;
  objectKind: string;
  objectId: string;
  /** Null where the object belongs to no workspace. */
  workspaceId: string | null;
  /** The fields that changed, by their names on the wire; never a secret. */
  changes: Record<string, FieldChange>;
}
export interface FieldChange {
  before: unknown;
  after: unknown;
}
export interface AuditEntry extends AuditEvent {
  id: string;
  atMs: number;
  actorKeyHash: string | null;
}
