import { deriveKeyNumber } from '../../access/key-text.ts';
import { usdOf } from '../../metering/cost.ts';
import type { KeyRecord } from '../../platform/storage/ports/keys.ts';
import { writeRateLimits } from '../rate-limit-fields.ts';
import { writeNullableTime, writeTime } from '../write-time.ts';
import type { KeySpending } from './read-key-spending.ts';

/** `Key` of the interface. @see docs/reference/management.md#keys */
export function writeKey({ key, spending }: { key: KeyRecord; spending: KeySpending }) {
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

/** The settings of a key, as the API and the audit log show them. */
export function writeKeySettings(key: KeyRecord) {
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

/** The amounts of a key that follow from its ledger entries. */
function writeKeyAmounts(key: KeyRecord, spending: KeySpending) {
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

/** `GET /key`: a key, for itself. @see docs/reference/management.md#keys */
export function writeCurrentKey({ key, spending }: { key: KeyRecord; spending: KeySpending }) {
  const { limit, limit_reset, include_byok_in_limit, creator_user_id, expires_at } = writeKeySettings(key);
  const isManagement = key.kind === 'management';
  return {
    label: key.label,
    limit,
    limit_reset,
    include_byok_in_limit,
    creator_user_id,
    expires_at,
    ...writeKeyAmounts(key, spending),
    ...writeRateLimits(key.rateLimits),
    is_free_tier: false,
    is_management_key: isManagement,
    is_provisioning_key: isManagement,
    organization_id: null, // there is one, without an id
    workspace_id: isManagement ? null : key.workspaceId,
    rate_limit: {
      requests: key.rateLimits.requests_per_minute || -1,
      interval: '1m',
      note: 'This field is deprecated; see requests_per_minute. -1: the key has no limit of its own.',
    },
    allowed_data_regions: ['global'],
    free_model_daily_requests: { used: 0, limit: -1, remaining: -1 }, // -1: no limit
  };
}
