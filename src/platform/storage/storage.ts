import type { KeyKind } from '../../domain/caller.ts';
import type { LedgerEntry } from '../../domain/ledger-entry.ts';

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
  /** Brings the schema up to date; safe when several processes do it at once. */
  migrate(): Promise<void>;
  /** Resolves when the store answers. */
  ping(): Promise<void>;
  close(): Promise<void>;
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
  expiresAtMs: number | null;
}
export interface WorkspaceRecord {
  id: string;
  name: string;
  createdAtMs: number;
}
export interface MemberRecord {
  id: string;
  createdAtMs: number;
}

export interface AccessStore {
  /** A number that grows with every change of keys, workspaces and members, by whichever process. */
  readRevision(): Promise<number>;
  listKeys(): Promise<KeyRecord[]>;
  listWorkspaces(): Promise<WorkspaceRecord[]>;
  listMembers(): Promise<MemberRecord[]>;
  /** Creates or replaces, by hash. Keeps `createdAtMs` of an existing row. */
  putKey(key: KeyRecord): Promise<void>;
  /** @returns the key as it is now, or undefined when there is none with this hash */
  setKeyDisabled(hash: string, disabled: boolean): Promise<KeyRecord | undefined>;
  /** Creates or renames, by id. */
  putWorkspace(workspace: WorkspaceRecord): Promise<void>;
  /** Creates if absent, by id. */
  putMember(member: MemberRecord): Promise<void>;
  /** Makes the member belong to exactly these workspaces. */
  setMemberships(memberId: string, workspaceIds: readonly string[]): Promise<void>;
  listMemberships(): Promise<{ memberId: string; workspaceId: string }[]>;
}

export interface LedgerStore {
  /** Books each entry once: an id that is there already is left as it is. All or none of them are durable on return. */
  append(entries: readonly LedgerEntry[]): Promise<void>;
  /** @returns the entry, or undefined when this workspace has none with this id */
  find(workspaceId: string, id: string): Promise<LedgerEntry | undefined>;
  /** Sums over a workspace, or over all. */
  readTotals(workspaceId?: string): Promise<LedgerTotals>;
  /**
   * Sums by task and model over the answers from `sinceMs` on, of all workspaces: those that a model gave to the end
   * (`completed` or `incomplete`) and that have a price. In no order.
   *
   * @param sinceMs Unix milliseconds
   */
  readTraffic(sinceMs: number): Promise<TrafficRow[]>;
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
