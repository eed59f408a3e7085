import type { KeyKind } from '../../../domain/caller.ts';
import { noRateLimits, type RateLimits } from '../../../domain/rate-limits.ts';
import type { Page } from './page.ts';

export interface KeyRecord {
  /** SHA-256 of the whole key in lower-case hex. The key itself is not stored. */
  hash: string;
  name: string;
  /** For display: prefix, dots, last characters. */
  label: string;
  kind: KeyKind;
  workspaceId: string;
  /** Only set for `member` keys. */
  memberId: string | null;
  disabled: boolean;
  createdAtMs: number;
  /** Time of the last change of its settings; null before the first change. */
  updatedAtMs: number | null;
  expiresAtMs: number | null;
  /** Nano-dollars that the key may spend in a window; null: no limit for the key. */
  limitNanoUsd: bigint | null;
  /** When the window resets, in UTC, weeks on Monday; null: never. */
  limitReset: LimitReset | null;
  includeByokInLimit: boolean;
  rateLimits: RateLimits;
  /** The member that it was created for, or that created it. */
  creatorUserId: string | null;
  /** The user of the operator's application for whom the key was created, by the name in that application. */
  externalUser: string | null;
  /** The intern that uses the key; null: any client does. */
  internId: string | null;
}

/** Settings of a key that was created without any. */
export const defaultKeySettings = {
  updatedAtMs: null,
  expiresAtMs: null,
  limitNanoUsd: null,
  limitReset: null,
  includeByokInLimit: false,
  rateLimits: noRateLimits,
  externalUser: null,
  internId: null,
} as const satisfies Partial<KeyRecord>;

export type LimitReset = 'daily' | 'weekly' | 'monthly';

export interface KeyQuery extends Page {
  workspaceId?: string | undefined;
  includeDisabled: boolean;
}

/** Keys as the gateway and the bootstrap configuration use them. */
export interface AccessKeys {
  listKeys(): Promise<KeyRecord[]>;
  /** Creates or replaces, by hash. Keeps `createdAtMs` of an existing row. */
  putKey(key: KeyRecord): Promise<void>;
  /** Hashes of the existing keys that `markBootstrapKey` has marked, in any order. */
  listBootstrapKeys(): Promise<string[]>;
  /** Records whether a configuration defines the key. The mark stays even if the key changes. */
  markBootstrapKey(hash: string, isDefined: boolean): Promise<void>;
  /** @returns the key after the change, or undefined if none has this hash */
  setKeyDisabled(hash: string, disabled: boolean): Promise<KeyRecord | undefined>;
}

export interface KeyReader {
  /** Finds inference and management keys alike. */
  findKey(hash: string): Promise<KeyRecord | undefined>;
  /** Lists only inference keys, the newest first. */
  listKeys(query: KeyQuery): Promise<KeyRecord[]>;
}

export interface KeyWriter extends KeyReader {
  /** Creates or replaces, by hash. */
  putKey(key: KeyRecord): Promise<void>;
  /** Also deletes its assignment. Its ledger entries stay. */
  deleteKey(hash: string): Promise<void>;
  /** Deletes the keys of an intern. @returns them */
  deleteInternKeys(internId: string): Promise<KeyRecord[]>;
  /** Counts the inference keys of a workspace, including disabled and expired ones. */
  countKeys(workspaceId: string): Promise<number>;
  /** @returns the members that have an enabled key in the workspace */
  findKeyOwners(workspaceId: string, memberIds: readonly string[]): Promise<string[]>;
}
