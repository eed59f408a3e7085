import { numberKey } from '../../access/key-text.ts';
import { usdOf } from '../../metering/cost.ts';
import { windowStarts } from '../../metering/windows.ts';
import type { AuditHappening, FieldChange, KeyRecord, LedgerStore } from '../../platform/storage/storage.ts';
import { writeNullableTime, writeTime } from '../management/store.ts';

/** Nano-dollars that a key has spent: ever, and in the windows that are open now. */
export interface Spending {
  ever: bigint;
  daily: bigint;
  weekly: bigint;
  monthly: bigint;
}

export async function readKeySpending(
  ledger: Pick<LedgerStore, 'readSpending'>,
  keyHash: string,
  nowMs: number,
): Promise<Spending> {
  const starts = windowStarts(nowMs);
  const sums = await ledger.readSpending({ keyHash }, 0, starts.daily, starts.weekly, starts.monthly);
  const [ever = 0n, daily = 0n, weekly = 0n, monthly = 0n] = sums;
  return { ever, daily, weekly, monthly };
}

/** What a key has not spent before. */
export const nothingSpent: Spending = { ever: 0n, daily: 0n, weekly: 0n, monthly: 0n };

/** `Key` of the interface. @see platform.md section 7, "Keys" */
export function writeKey(key: KeyRecord, spending: Spending): Record<string, unknown> {
  return {
    hash: key.hash,
    id: numberKey(key.hash),
    label: key.label,
    ...writeSettings(key),
    ...writeMoney(key, spending),
    created_at: writeTime(key.createdAtMs),
    updated_at: writeNullableTime(key.updatedAtMs),
  };
}

/** What can be said of a key, as it is written into the audit log, too. */
export function writeSettings(key: KeyRecord): Record<string, unknown> {
  return {
    name: key.name,
    workspace_id: key.workspaceId,
    disabled: key.disabled,
    limit: key.limitNanoUsd === null ? null : usdOf(key.limitNanoUsd),
    limit_reset: key.limitReset,
    include_byok_in_limit: key.includeByokInLimit,
    expires_at: writeNullableTime(key.expiresAtMs),
    creator_user_id: key.creatorUserId,
    external_user: key.externalUser,
  };
}

/** The numbers that the ledger gives. Nothing tells yet what an own provider key has cost. */
export function writeMoney(key: KeyRecord, spending: Spending): Record<string, unknown> {
  return {
    limit_remaining: writeRemaining(key, spending),
    usage: usdOf(spending.ever),
    usage_daily: usdOf(spending.daily),
    usage_weekly: usdOf(spending.weekly),
    usage_monthly: usdOf(spending.monthly),
    byok_usage: 0,
    byok_usage_daily: 0,
    byok_usage_weekly: 0,
    byok_usage_monthly: 0,
  };
}

function writeRemaining({ limitNanoUsd, limitReset }: KeyRecord, spending: Spending): number | null {
  if (limitNanoUsd === null) return null;
  const left = limitNanoUsd - spending[limitReset ?? 'ever'];
  return usdOf(left > 0n ? left : 0n);
}

/** What the audit log tells of a key. */
export const happeningOf = (action: string, key: KeyRecord, changes: Record<string, FieldChange>): AuditHappening => ({
  ...{ action, objectKind: 'key', objectId: key.hash, workspaceId: key.workspaceId || null, changes },
});
