import { GatewayError } from '../../domain/errors.ts';
import type { KeyQuery, KeyRecord } from '../../platform/storage/ports/keys.ts';
import type { Actor, ManagementParts } from '../parts.ts';
import { type KeySpending, readKeySpending } from './read-key-spending.ts';

export interface SpentKey {
  key: KeyRecord;
  spending: KeySpending;
}

/** Returns inference keys with their spending, the newest first. */
export async function listKeys(parts: ManagementParts, query: KeyQuery): Promise<SpentKey[]> {
  const keys = await parts.management.listKeys(query);
  const hashes = keys.map(({ hash }) => hash);
  const spending = await readKeySpending(parts.ledger, hashes, parts.now());
  return keys.map((key, at) => ({ key, spending: spending[at]! }));
}

/** @throws {GatewayError} `not_found` */
export async function getKey(parts: ManagementParts, actor: Actor, hash: string): Promise<SpentKey> {
  return withSpending(parts, await requireKey(parts.management, actor, hash));
}

export async function withSpending({ ledger, now }: ManagementParts, key: KeyRecord): Promise<SpentKey> {
  const [spending] = await readKeySpending(ledger, [key.hash], now());
  return { key, spending: spending! };
}

/** Returns a key that the actor may change. @throws {GatewayError} `not_found`, also for a management key */
export async function requireKey(
  from: { findKey(hash: string): Promise<KeyRecord | undefined> },
  actor: Actor,
  hash: string,
): Promise<KeyRecord> {
  const key = await from.findKey(hash);
  if (key && (key.kind !== 'management' || actor.keyHash === null)) return key;
  const what = actor.keyHash === null ? 'key' : 'inference key';
  throw new GatewayError('not_found', `There is no ${what} with the hash ${hash.slice(0, 64)}.`);
}
