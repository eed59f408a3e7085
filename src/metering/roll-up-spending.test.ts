import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createTestEntry } from '../platform/storage/contract/samples.ts';
import { openSqliteStorage } from '../platform/storage/sqlite/open.ts';
import { rollUpSpending } from './roll-up-spending.ts';
import { DAY_MS, windowStarts } from './windows.ts';

const firstDay = Date.UTC(2027, 10, 20);

it('keeps the spending of every current window, of today and yesterday, despite late entries', async () => {
  const booking = fc.record({
    key: fc.nat(2),
    daysLate: fc.oneof(fc.nat(1), fc.nat(120)),
    costNanoUsd: fc.bigInt(1n, 99n),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(booking, { maxLength: 4 }), { minLength: 110, maxLength: 110 }),
      async (days) => {
        const storage = await openSqliteStorage(':memory:');
        await storage.migrate();
        const { ledger } = storage;
        const booked: { key: number; atMs: number; costNanoUsd: bigint }[] = [];
        for (const [at, bookings] of days.entries()) {
          const nowMs = firstDay + at * DAY_MS + 1000;
          const those = bookings.map(({ key, daysLate, costNanoUsd }) => {
            return { key, atMs: nowMs - daysLate * DAY_MS, costNanoUsd };
          });
          booked.push(...those);
          await ledger.append(
            those.map(({ key, atMs, costNanoUsd }) =>
              createTestEntry({ workspaceId: 'w', keyHash: `k${key}`, createdAtMs: atMs, costNanoUsd }),
            ),
          );
          await rollUpSpending(ledger, nowMs);
          const starts = [nowMs, nowMs - DAY_MS].flatMap((ms) => [0, ...Object.values(windowStarts(ms))]);
          const spent = await ledger.readSpending([{ keyHash: 'k0' }, { workspaceId: 'w' }, 'everything'], starts);
          const sum = (key?: number) =>
            starts.map((since) =>
              booked
                .filter((each) => each.atMs >= since && (key === undefined || each.key === key))
                .reduce((total, { costNanoUsd }) => total + costNanoUsd, 0n),
            );
          expect(spent.map(({ costNanoUsd }) => costNanoUsd)).toEqual([sum(0), sum(), sum()]);
        }
        await storage.close();
      },
    ),
    { numRuns: 10 },
  );
});

it('leaves a few rows per key of any age', async () => {
  const storage = await openSqliteStorage(':memory:');
  await storage.migrate();
  let gone = 0;
  for (let at = 0; at < 400; at++) {
    const createdAtMs = firstDay + at * DAY_MS;
    await storage.ledger.append([createTestEntry({ workspaceId: 'w', keyHash: 'k', createdAtMs, costNanoUsd: 1n })]);
    gone += await rollUpSpending(storage.ledger, createdAtMs);
    expect(at + 1 - gone).toBeLessThanOrEqual(7);
  }
  expect((await storage.ledger.readSpending([{ keyHash: 'k' }], [0]))[0]!.costNanoUsd).toEqual([400n]);
  await storage.close();
});
