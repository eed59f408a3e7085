import { hashKey, createKeyLabel } from '../../access/key-text.ts';
import { invalidRequest } from '../../domain/errors.ts';
import { rateLimitNames } from '../../domain/rate-limits.ts';
import type { FieldChange } from '../../platform/storage/ports/audit.ts';
import type { KeyRecord } from '../../platform/storage/ports/keys.ts';
import type { ManagementTransaction } from '../../platform/storage/ports/management.ts';
import { assignGuardrailTo } from '../guardrails/change-guardrail.ts';
import { listChanges } from '../list-changes.ts';
import { inheritContentLogging } from '../workspaces/inherit-content-logging.ts';
import { describeKeyEvent, writeKeySettings } from './write-key.ts';

// What the management API and the command line do to keys, each with its line in the audit log.

export async function createKey(transaction: ManagementTransaction, key: KeyRecord): Promise<void> {
  await transaction.putKey(key);
  await transaction.record(describeKeyEvent('key.create', key, listChanges(undefined, writeKeySettings(key))));
}

/**
 * Saves what differs; when nothing does, the key stays as it is.
 *
 * @throws {GatewayError} `invalid_request` when a management key is given a limit
 */
export async function updateKey(
  transaction: ManagementTransaction,
  before: KeyRecord,
  after: KeyRecord,
  nowMs: number,
): Promise<KeyRecord> {
  if (before.kind === 'management') refuseLimits(after);
  return saveKey(transaction, 'key.update', { before, after, nowMs });
}

/**
 * Puts a new key with the same settings in the place of one.
 *
 * @param graceSeconds how long the old one may still be used; 0: it is disabled at once
 * @returns the old key as it is now, and the new one
 * @throws {GatewayError} `invalid_request` when the old one is disabled or has expired
 */
export async function rotateKey(
  transaction: ManagementTransaction,
  old: KeyRecord,
  { text, graceSeconds, nowMs }: { text: string; graceSeconds: number; nowMs: number },
): Promise<{ before: KeyRecord; after: KeyRecord }> {
  refuseDead(old, nowMs);
  const hash = hashKey(text);
  const created: KeyRecord = { ...old, hash, label: createKeyLabel(text), createdAtMs: nowMs, updatedAtMs: null };
  await createKey(transaction, created);
  const guardrailId = await transaction.findAssigned({ kind: 'key', holder: old.hash });
  if (guardrailId !== undefined) {
    const guardrail = { id: guardrailId, workspaceId: old.workspaceId };
    await assignGuardrailTo(transaction, { kind: 'key', holder: hash }, guardrail, nowMs);
  }
  await inheritContentLogging(transaction, old, hash, nowMs);
  const endsAtMs = Math.min(old.expiresAtMs ?? Number.POSITIVE_INFINITY, nowMs + graceSeconds * 1000);
  const ended: KeyRecord = graceSeconds === 0 ? { ...old, disabled: true } : { ...old, expiresAtMs: endsAtMs };
  const more = { replaced_by: { before: null, after: hash } };
  return {
    before: await saveKey(transaction, 'key.rotate', { before: old, after: ended, nowMs, more }),
    after: created,
  };
}

export async function deleteKey(transaction: ManagementTransaction, key: KeyRecord): Promise<void> {
  await transaction.deleteKey(key.hash);
  await transaction.record(describeKeyEvent('key.delete', key, listChanges(writeKeySettings(key), undefined)));
}

interface Saving {
  before: KeyRecord;
  after: KeyRecord;
  nowMs: number;
  /** Changes that are no settings. */
  more?: Record<string, FieldChange>;
}

async function saveKey(
  transaction: ManagementTransaction,
  action: string,
  { before, after, nowMs, more }: Saving,
): Promise<KeyRecord> {
  const changes = { ...listChanges(writeKeySettings(before), writeKeySettings(after)), ...more };
  if (Object.keys(changes).length === 0) return before;
  const saved = { ...after, updatedAtMs: nowMs };
  await transaction.putKey(saved);
  await transaction.record(describeKeyEvent(action, saved, changes));
  return saved;
}

/** @throws {GatewayError} `invalid_request` */
function refuseLimits({ limitNanoUsd, rateLimits }: KeyRecord): void {
  const path = limitNanoUsd === null ? rateLimitNames.find((name) => rateLimits[name] > 0) : 'limit';
  if (path === undefined) return;
  throw invalidRequest([{ path, message: 'A management key requests no models, so it has no limit.' }]);
}

/** A key that is dead would give its successor nothing to live on. */
function refuseDead(key: KeyRecord, nowMs: number): void {
  const isOver = key.expiresAtMs !== null && key.expiresAtMs <= nowMs;
  if (!key.disabled && !isOver) return;
  const message = key.disabled
    ? 'The key is disabled: enable it first, or make a new one.'
    : `The key expired on ${new Date(key.expiresAtMs!).toISOString()}: make a new one.`;
  throw invalidRequest([{ path: '', message }]);
}
