import fc from 'fast-check';
import { expect, it } from 'vitest';
import { RetryBudget } from './retry-budget.ts';

function openBudget() {
  let nowMs = 1_800_000_000_000;
  const budget = new RetryBudget(() => nowMs);
  const take = (count: number, policy: { share: number; minimum: number }, provider = 'p') =>
    Array.from({ length: count }, () => budget.takeRetry(provider, policy)).filter(Boolean).length;
  const request = (count: number, provider = 'p') => {
    for (let done = 0; done < count; done++) budget.countRequest(provider);
  };
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { take, request, pass };
}

const policy = { share: 0.1, minimum: 10 };

it('allows a quiet provider the minimum and a busy one its share, separately', () => {
  const { take, request } = openBudget();
  expect(take(50, policy)).toBe(10);
  request(300);
  expect(take(50, policy)).toBe(20);
  expect(take(50, policy, 'other')).toBe(10);
});

it('allows retries again after a minute', () => {
  const { take, pass } = openBudget();
  expect(take(20, policy)).toBe(10);
  pass(59_000);
  expect(take(20, policy)).toBe(0);
  pass(2_000);
  expect(take(20, policy)).toBe(10);
});

it('allows none with a share and a minimum of 0, and survives a clock that is set back', () => {
  const { take, request, pass } = openBudget();
  request(100);
  expect(take(5, { share: 0, minimum: 0 })).toBe(0);
  expect(take(20, policy)).toBe(10);
  pass(-3_600_000);
  expect(take(20, policy)).toBe(10);
});

it('never allows more within a minute than the minimum or the share', () => {
  const step = fc.record({ requests: fc.nat(40), retries: fc.nat(10), passMs: fc.nat(5_000) });
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 60 }),
      fc.constantFrom(0.05, 0.1, 0.5),
      fc.nat(5),
      (steps, share, minimum) => {
        const { take, request, pass } = openBudget();
        let nowMs = 0;
        const done: { atMs: number; requests: number; retries: number }[] = [];
        for (const { requests, retries, passMs } of steps) {
          nowMs += passMs;
          pass(passMs);
          request(requests);
          const taken = take(retries, { share, minimum });
          done.push({ atMs: nowMs, requests, retries: taken });
          // the oldest second may be out of the window
          const within = (ms: number) => done.filter(({ atMs }) => atMs > nowMs - ms);
          const sum = (rows: typeof done, field: 'requests' | 'retries') =>
            rows.reduce((total, row) => total + row[field], 0);
          if (taken > 0) {
            expect(sum(within(59_000), 'retries')).toBeLessThanOrEqual(
              Math.max(minimum, share * sum(within(61_000), 'requests')),
            );
          }
        }
      },
    ),
  );
});
