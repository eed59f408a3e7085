import { deriveKeyNumber } from '../../access/key-text.ts';
import { usdOf } from '../../metering/cost.ts';
import { windowStarts } from '../../metering/windows.ts';
import type { AuditEvent, FieldChange } from '../../platform/storage/ports/audit.ts';
import type { KeyRecord } from '../../platform/storage/ports/keys.ts';
import type { LedgerStore } from '../../platform/storage/ports/ledger.ts';
import { writeRateLimits } from '../rate-limit-fields.ts';
import { writeNullableTime, writeTime } from '../write-time.ts';

/** Nano-dollars, ever and in the windows that are open now. */
interface Sums {
  ever: bigint;
  daily: bigint;
  weekly: bigint;
  monthly: bigint;
}
/** What a key has spent, without own provider keys, and what these have cost. */
export interface KeySpending extends Sums {
  byok: Sums;
}

/** @returns what each of the keys has spent, in their order */
export async function readKeySpending(
  ledger: Pick<LedgerStore, 'readSpending'>,
  keyHashes: readonly string[],
  nowMs: number,
): Promise<KeySpending[]> {
  const starts = windowStarts(nowMs);
  const spent = await ledger.readSpending(
    keyHashes.map((keyHash) => ({ keyHash })),
    [0, starts.daily, starts.weekly, starts.monthly],
  );
  return spent.map(({ costNanoUsd, byokNanoUsd }) => ({ ...nameSums(costNanoUsd), byok: nameSums(byokNanoUsd) }));
}

function nameSums([ever = 0n, daily = 0n, weekly = 0n, monthly = 0n]: readonly bigint[]): Sums {
  return { ever, daily, weekly, monthly };
}

/** What a key has not spent before. */
export const zeroSpending: KeySpending = { ...nameSums([]), byok: nameSums([]) };

/** `Key` of the interface. @see docs/reference/management.md#keys */
export function writeKey(key: KeyRecord, spending: KeySpending): Record<string, unknown> {
  return {
    hash: key.hash,
    id: deriveKeyNumber(key.hash),
    label: key.label,
    ...writeKeySettings(key),
    ...writeKeyAmounts(key, spending),
    created_at: writeTime(key.createdAtMs),
    updated_at: writeNullableTime(key.updatedAtMs),
  };
}

/** What can be said of a key, as it is written into the audit log, too. */
export function writeKeySettings(key: KeyRecord): Record<string, unknown> {
  return {
    name: key.name,
    workspace_id: key.workspaceId,
    disabled: key.disabled,
    limit: key.limitNanoUsd === null ? null : usdOf(key.limitNanoUsd),
    limit_reset: key.limitReset,
    include_byok_in_limit: key.includeByokInLimit,
    ...writeRateLimits(key.rateLimits),
    expires_at: writeNullableTime(key.expiresAtMs),
    creator_user_id: key.creatorUserId,
    external_user: key.externalUser,
  };
}

/** The numbers that the ledger gives. */
export function writeKeyAmounts(key: KeyRecord, spending: KeySpending): Record<string, unknown> {
  return {
    limit_remaining: writeRemaining(key, spending),
    usage: usdOf(spending.ever),
    usage_daily: usdOf(spending.daily),
    usage_weekly: usdOf(spending.weekly),
    usage_monthly: usdOf(spending.monthly),
    byok_usage: usdOf(spending.byok.ever),
    byok_usage_daily: usdOf(spending.byok.daily),
    byok_usage_weekly: usdOf(spending.byok.weekly),
    byok_usage_monthly: usdOf(spending.byok.monthly),
  };
}

function writeRemaining(key: KeyRecord, spending: KeySpending): number | null {
  const { limitNanoUsd, limitReset, includeByokInLimit } = key;
  if (limitNanoUsd === null) return null;
  const window = limitReset ?? 'ever';
  const left = limitNanoUsd - spending[window] - (includeByokInLimit ? spending.byok[window] : 0n);
  return usdOf(left > 0n ? left : 0n);
}

/** What the audit log tells of a key. */
export const describeKeyEvent = (action: string, key: KeyRecord, changes: Record<string, FieldChange>): AuditEvent => ({
  ...{ action, objectKind: 'key', objectId: key.hash, workspaceId: key.workspaceId || null, changes },
});
