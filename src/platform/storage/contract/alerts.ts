import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { allRows, type StoragePair } from './samples.ts';

/** Tests the contract of alerts. */
export function testAlerts(pair: () => StoragePair): void {
  describe('alerts', () => {
    it('are raised once in the quiet time, whichever process raises them, with their jobs', async () => {
      const { storage, other } = pair();
      const id = randomUUID();
      const kind = `alert-${id}`;
      const at = (atMs: number) => ({ id, kind: 'test', message: `at ${atMs}`, data: '{}', atMs });
      const job = (name: string) => ({ id: `${id}-${name}`, kind, payload: '{}', dueAtMs: 0 });
      const raised = await Promise.all(
        [storage, other, storage].map(({ alerts }, index) => alerts.raiseAlert(at(1000), 100, [job(`a${index}`)])),
      );
      expect(raised.toSorted()).toEqual([false, false, true]);
      expect(await storage.alerts.raiseAlert(at(1099), 100, [job('b')])).toBe(false);
      expect(await other.alerts.raiseAlert(at(1100), 100, [job('c')])).toBe(true);
      expect(await other.alerts.raiseAlert(at(9e12), Number.POSITIVE_INFINITY, [job('d')])).toBe(false);

      const opposite = { ...at(1101), kind: 'opposite' };
      expect(await storage.alerts.raiseAlert(opposite, 100, [])).toBe(true);
      expect(await storage.alerts.raiseAlert({ ...at(1102), kind: 'opposite' }, 100, [])).toBe(false);
      expect(await storage.alerts.raiseAlert(at(1100), 100, [])).toBe(true);

      const { rows, total } = await storage.alerts.listAlerts(allRows);
      expect(total).toBe(rows.length);
      expect(rows.filter((alert) => alert.id === id)).toEqual([{ ...at(1100), count: 4 }]);
      const jobs = await storage.jobs.claimJobs({ kinds: [kind], holder: 'test', nowMs: 1, limit: 9 });
      expect(jobs.map((each) => each.id.slice(id.length + 1).slice(0, 1)).toSorted()).toEqual(['a', 'c']);
      await storage.alerts.deleteAlertsBefore(1100);
      expect((await storage.alerts.listAlerts(allRows)).rows.some((alert) => alert.id === id)).toBe(true);
      await storage.alerts.deleteAlertsBefore(1101);
      expect((await storage.alerts.listAlerts(allRows)).rows.some((alert) => alert.id === id)).toBe(false);
    });
  });
}
