import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { happening, type StoragePair, change } from './samples.ts';

/** Tests the contract of credits. */
export function testCredits(pair: () => StoragePair): void {
  describe('credits', () => {
    it('sums the credits, and distinguishes none from zero', async () => {
      const { storage, other } = pair();
      const add = (nanoUsd: bigint, note: string | null) =>
        storage.management.change(change, async (transaction) => {
          await transaction.addCredit({ id: randomUUID(), atMs: 5, nanoUsd, note });
          await transaction.record(happening());
        });
      expect(await other.management.readCredits()).toBeNull();
      await add(2n ** 60n, 'paid\0');
      await add(-5n, null);
      expect(await other.management.readCredits()).toBe(2n ** 60n - 5n);
      await add(5n - 2n ** 60n, null);
      expect(await other.management.readCredits()).toBe(0n);
      await storage.management.change(change, async (transaction) => {
        await transaction.deleteCredits();
        await transaction.record(happening());
      });
      expect(await other.management.readCredits()).toBeNull();
    });
  });
}
