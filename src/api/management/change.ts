import type { FastifyRequest } from 'fastify';
import { currentTimeMs } from '../../domain/clock.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import type { ManagementTransaction } from '../../platform/storage/ports/management.ts';
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
