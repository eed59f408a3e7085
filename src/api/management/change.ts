import type { FastifyRequest } from 'fastify';
import { currentTimeMs } from '../../domain/clock.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import type { FieldChange, ManagementTransaction } from '../../platform/storage/storage.ts';
import type { ManagementParts } from './route-handler.ts';

/**
 * Makes a change in the name of the caller: in one transaction, with what `work` records of it.
 *
 * @throws {GatewayError} what `work` throws, with nothing changed
 */
export async function applyChange<Result>(
  { management, refreshAccess }: ManagementParts,
  request: FastifyRequest,
  work: (transaction: ManagementTransaction, nowMs: number) => Promise<Result>,
): Promise<Result> {
  const nowMs = currentTimeMs();
  const change = { atMs: nowMs, actorKeyHash: request.caller!.keyHash };
  const result = await callStore(() => management.change(change, (transaction) => work(transaction, nowMs)));
  // The change stands: were the store gone since, the next poll would bring it.
  await refreshAccess().catch(() => {});
  return result;
}

/** The fields in which two objects differ; undefined for one that was not, or is no more. */
export function listChanges(before: object | undefined, after: object | undefined): Record<string, FieldChange> {
  const [old, now] = [new Map(Object.entries(before ?? {})), new Map(Object.entries(after ?? {}))];
  const names = [...new Set([...old.keys(), ...now.keys()])];
  const changed = names.filter((name) => JSON.stringify(old.get(name)) !== JSON.stringify(now.get(name)));
  return Object.fromEntries(
    changed.map((name) => [name, { before: old.get(name) ?? null, after: now.get(name) ?? null }]),
  );
}
