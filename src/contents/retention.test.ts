import { expect, it, vi } from 'vitest';
import { openSqliteStorage } from '../platform/storage/sqlite/open.ts';
import { openRetention } from './retention.ts';

const DAY_MS = 86_400_000;

it('deletes expired contents, slice by slice, and nothing newer', async () => {
  const storage = await openSqliteStorage(':memory:');
  await storage.migrate();
  await storage.access.putWorkspace({ id: 'w', name: 'main', createdAtMs: 1 });
  const bornAt = 1_790_000_000_000;
  await storage.contents.append(
    Array.from({ length: 170 }, (_, index) => ({
      id: `gen-${index}`,
      workspaceId: 'w',
      input: '{}',
      output: '[]',
      error: null,
      isCut: false,
      createdAtMs: bornAt + index,
    })),
  );
  let nowMs = bornAt + 30 * DAY_MS;
  const slices: number[] = [];
  const retention = openRetention({
    async deleteBefore(beforeMs, max) {
      const deleted = await storage.contents.deleteBefore(beforeMs, max);
      slices.push(deleted);
      return deleted;
    },
    keepMs: () => 30 * DAY_MS,
    now: () => nowMs,
    onTrouble: () => {},
  });

  expect(await retention.sweep()).toBe(0);
  nowMs += 160;
  expect(await retention.sweep()).toBe(160);
  expect(slices).toEqual([0, 50, 50, 50, 10]);
  expect(await storage.contents.find('gen-159')).toBeUndefined();
  expect(await storage.contents.find('gen-160')).toBeDefined();
  retention.close();
  await storage.close();
});

it('runs once after the start and then every hour, and reports an unavailable store', async () => {
  vi.useFakeTimers();
  const troubles: unknown[] = [];
  let asked = 0;
  const retention = openRetention({
    async deleteBefore() {
      if (++asked === 2) throw new Error('gone');
      return 0;
    },
    keepMs: () => DAY_MS,
    onTrouble: (error) => troubles.push(error),
  });
  await vi.advanceTimersByTimeAsync(60_000);
  expect([asked, troubles.length]).toEqual([1, 0]);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect([asked, troubles.length]).toEqual([2, 1]);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect([asked, troubles.length]).toEqual([3, 1]);
  retention.close();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});
