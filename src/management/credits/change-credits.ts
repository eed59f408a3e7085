import { invalidRequest } from '../../domain/errors.ts';
import { createTimedId } from '../../domain/ids.ts';
import { usdOf } from '../../metering/cost.ts';
import { applyChange } from '../apply-change.ts';
import { listChanges } from '../list-changes.ts';
import type { Actor, ManagementParts } from '../parts.ts';
import { type Balance, readBalance } from './read-balance.ts';

/**
 * Adds to the sum that the organization may spend. The first addition turns credits on.
 *
 * @param nanoUsd negative: takes credits back
 * @returns `wasOn`: whether credits were on before
 * @throws {GatewayError} `invalid_request` for 0, or if credits are off and there is nothing to take back
 */
export async function addCredits(
  parts: ManagementParts,
  actor: Actor,
  { nanoUsd, note }: { nanoUsd: bigint; note: string | null },
): Promise<{ wasOn: boolean; balance: Balance }> {
  if (nanoUsd === 0n) throw invalidRequest([{ path: '', message: 'The sum must not be 0.' }]);
  const wasOn = (await parts.management.readCredits()) !== null;
  if (nanoUsd < 0n && !wasOn) {
    throw invalidRequest([{ path: '', message: 'Credits are off, so there is nothing to take back.' }]);
  }
  await applyChange(parts, actor, async ({ transaction, nowMs }) => {
    const credit = { id: createTimedId('credit_'), atMs: nowMs, nanoUsd, note };
    await transaction.addCredit(credit);
    const changes = listChanges(undefined, { amount_usd: usdOf(nanoUsd), note });
    const [action, objectKind] = ['credits.add', 'credits'];
    await transaction.record({ action, objectKind, objectId: credit.id, workspaceId: null, changes });
  });
  return { wasOn, balance: await readBalance(parts) };
}

/**
 * Turns credits off: spending is no longer limited to the sum that was added. The audit log keeps the sum.
 *
 * @returns the balance before
 */
export async function turnCreditsOff(parts: ManagementParts, actor: Actor): Promise<Balance> {
  const before = await readBalance(parts);
  if (!before.isOn) return before;
  await applyChange(parts, actor, async ({ transaction }) => {
    await transaction.deleteCredits();
    const changes = listChanges({ total_usd: usdOf(before.credits) }, undefined);
    await transaction.record({
      action: 'credits.off',
      objectKind: 'credits',
      objectId: 'credits',
      workspaceId: null,
      changes,
    });
  });
  return before;
}
