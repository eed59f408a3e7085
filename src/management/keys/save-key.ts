import { invalidRequest } from '../../domain/errors.ts';
import { rateLimitNames } from '../../domain/rate-limits.ts';
import type { AuditEvent, FieldChange } from '../../platform/storage/ports/audit.ts';
import type { KeyRecord } from '../../platform/storage/ports/keys.ts';
import { listChanges } from '../list-changes.ts';
import type { Edit } from '../parts.ts';
import { writeKeySettings } from './write-key.ts';

/** Stores a new key, with its audit entry. */
export async function saveNewKey({ transaction }: Edit, key: KeyRecord): Promise<void> {
  await transaction.putKey(key);
  await transaction.record(describeKeyEvent('key.create', key, listChanges(undefined, writeKeySettings(key))));
}

/** Stores what differs, with an audit entry. If nothing differs, the key stays as it is. */
export async function saveKey(
  { transaction, nowMs }: Edit,
  action: string,
  { before, after, more }: { before: KeyRecord; after: KeyRecord /** Changes other than settings. */; more?: Changes },
): Promise<KeyRecord> {
  const changes = { ...listChanges(writeKeySettings(before), writeKeySettings(after)), ...more };
  if (Object.keys(changes).length === 0) return before;
  const saved = { ...after, updatedAtMs: nowMs };
  await transaction.putKey(saved);
  await transaction.record(describeKeyEvent(action, saved, changes));
  return saved;
}

type Changes = Record<string, FieldChange>;

export const describeKeyEvent = (action: string, key: KeyRecord, changes: Changes): AuditEvent => ({
  action,
  objectKind: 'key',
  objectId: key.hash,
  workspaceId: key.workspaceId || null,
  changes,
});

/** @throws {GatewayError} `invalid_request` if a management key has a limit */
export function rejectManagementLimits({ kind, limitNanoUsd, rateLimits }: KeyRecord): void {
  if (kind !== 'management') return;
  const path = limitNanoUsd === null ? rateLimitNames.find((name) => rateLimits[name] > 0) : 'limit';
  if (path === undefined) return;
  throw invalidRequest([{ path, message: 'A management key requests no models, so it has no limit.' }]);
}
