import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { BudgetInterval } from '../ports/budgets.ts';
import { createWorkspaceDetails, happening, type StoragePair, change, saveTestWorkspace } from './samples.ts';

/** Tests the contract of budgets. */
export function testBudgets(pair: () => StoragePair): void {
  describe('budgets', () => {
    it('keeps one budget for each interval, the broadest first, and deletes them with their workspace', async () => {
      const { access, management } = pair().storage;
      const workspace = createWorkspaceDetails();
      await saveTestWorkspace(pair(), workspace);
      const make = (interval: BudgetInterval, limitNanoUsd: bigint, atMs: number) => ({
        id: randomUUID(),
        workspaceId: workspace.id,
        interval,
        limitNanoUsd,
        createdAtMs: atMs,
        updatedAtMs: atMs,
      });
      const [daily, lifetime, monthly] = [make('daily', 1n, 5), make('lifetime', 2n ** 60n, 5), make('monthly', 9n, 5)];
      await access.putMember({ id: workspace.id, createdAtMs: 1 });
      await management.change(change, async (transaction) => {
        for (const budget of [daily, lifetime, monthly]) await transaction.putBudget(budget);
        await transaction.putBudget(make('daily', 2n, 6));
        const membership = {
          workspaceId: workspace.id,
          memberId: workspace.id,
          role: 'member' as const,
          createdAtMs: 3,
        };
        await transaction.joinWorkspace(membership);
        await transaction.record(happening());
      });

      const changed = { ...daily, limitNanoUsd: 2n, updatedAtMs: 6 };
      expect(await management.listBudgets(workspace.id)).toEqual([lifetime, monthly, changed]);
      await management.change(change, async (transaction) => {
        await transaction.deleteBudget(workspace.id, 'monthly');
        await transaction.record(happening());
      });
      expect(await management.listBudgets(workspace.id)).toEqual([lifetime, changed]);
      await management.change(change, async (transaction) => {
        await transaction.deleteWorkspace(workspace.id);
        await transaction.record(happening());
      });
      expect(await management.findWorkspace(workspace.id)).toBeUndefined();
      expect(await management.listBudgets(workspace.id)).toEqual([]);
      expect((await access.listMemberships()).some(({ workspaceId }) => workspaceId === workspace.id)).toBe(false);
    });
  });
}
