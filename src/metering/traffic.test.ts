import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { TrafficRow } from '../platform/storage/ports/activity.ts';
import type { Traffic } from '../routing/routers/router.ts';
import { createTraffic, type TrafficReader } from './traffic.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

let reader: TrafficReader | undefined;
beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  reader?.close();
  reader = undefined;
  vi.useRealTimers();
});

/** A store in memory that records reads, and can fail or wait. */
function createStore() {
  const store = {
    rows: [] as TrafficRow[],
    reads: [] as number[],
    isGone: false,
    gate: Promise.resolve(),
    async read(sinceMs: number) {
      store.reads.push(sinceMs);
      const { rows } = store;
      await store.gate;
      if (store.isGone) throw new Error('gone');
      return rows;
    },
  };
  return store;
}

function open(store: ReturnType<typeof createStore>) {
  const troubles: string[] = [];
  reader = createTraffic({ read: store.read, onTrouble: (error) => troubles.push(String(error)) });
  const traffic: Traffic = reader.traffic; // the values that routers read
  return { ...reader, traffic, troubles };
}

/** @param usd millionths of a dollar */
const row = (task: string | null, model: string, answers: number, usd: bigint, more: Partial<TrafficRow> = {}) => ({
  task,
  model,
  answers,
  costNanoUsd: usd * 1000n,
  inputCostNanoUsd: 0n,
  inputTokens: 0n,
  ...more,
});

async function ask(rows: TrafficRow[]): Promise<Traffic> {
  const store = createStore();
  store.rows = rows;
  const { traffic, refresh } = open(store);
  await refresh();
  return traffic;
}

it('ranks models by spending on a task, highest first', async () => {
  const traffic = await ask([
    row('code', 'a/small', 30, 100n),
    row('code', 'a/large', 5, 300n),
    row('chat', 'a/small', 40, 900n),
    row('code', 'a/free', 9, 0n),
    row(null, 'a/small', 50, 5000n),
  ]);

  expect(traffic.rank('code')).toEqual([
    { model: 'a/large', share: 0.75 },
    { model: 'a/small', share: 0.25 },
    { model: 'a/free', share: 0 },
  ]);
  expect(traffic.rank('chat')).toEqual([{ model: 'a/small', share: 1 }]);
  expect(traffic.rank('travel')).toEqual([]);
});

it('ranks equal spending by the number of responses, then by name', async () => {
  const traffic = await ask([
    row('code', 'a/b', 10, 50n),
    row('code', 'a/a', 10, 50n),
    row('code', 'a/z', 11, 50n),
    row('code', 'a/c', 1, 50n),
  ]);
  expect(traffic.rank('code').map(({ model }) => model)).toEqual(['a/z', 'a/a', 'a/b', 'a/c']);
});

it.each([
  [19, []],
  [20, ['a/small', 'a/large']],
])('of %i responses for a task it ranks %j', async (answers, ranked) => {
  const traffic = await ask([
    row('code', 'a/small', answers - 4, 100n),
    row('code', 'a/large', 4, 10n),
    row('chat', 'a/small', 500, 100n),
  ]);
  expect(traffic.rank('code').map(({ model }) => model)).toEqual(ranked);
});

it('ranks nothing without spending', async () => {
  const traffic = await ask([row('code', 'local/a', 100, 0n), row('code', 'local/b', 50, 0n)]);
  expect(traffic.rank('code')).toEqual([]);
  expect(traffic.averageCost('code', 'local/a')).toBe(0);
});

it('returns the average cost of a response: for this task, else for any', async () => {
  const traffic = await ask([
    row('code', 'a/small', 4, 10n),
    row('chat', 'a/small', 2, 1n),
    row(null, 'a/small', 2, 5n),
    row(null, 'a/large', 3, 6n),
  ]);

  expect(traffic.averageCost('code', 'a/small')).toBe(2500);
  expect(traffic.averageCost('chat', 'a/small')).toBe(500);
  expect(traffic.averageCost('travel', 'a/small')).toBe(2000); // 16 over 8
  expect(traffic.averageCost('code', 'a/large')).toBe(2000);
  expect(traffic.averageCost('code', 'a/unknown')).toBeUndefined();
});

it('returns the price of a million input tokens over all tasks', async () => {
  const traffic = await ask([
    row('code', 'a/small', 1, 10n, { inputCostNanoUsd: 3000n, inputTokens: 1000n }),
    row(null, 'a/small', 1, 10n, { inputCostNanoUsd: 1000n, inputTokens: 3000n }),
    row('code', 'a/silent', 1, 10n),
    row('code', 'local/free', 1, 0n, { inputTokens: 500n }),
  ]);

  expect(traffic.inputPrice('a/small')).toBe(1_000_000);
  expect(traffic.inputPrice('a/silent')).toBeUndefined();
  expect(traffic.inputPrice('a/unknown')).toBeUndefined();
  expect(traffic.inputPrice('local/free')).toBe(0);
});

it('supports sums above 2^53', async () => {
  const large = 2n ** 62n;
  const traffic = await ask([
    row('code', 'a/a', 10, 0n, { costNanoUsd: large, inputCostNanoUsd: large, inputTokens: large }),
    row('code', 'a/b', 10, 0n, { costNanoUsd: large * 3n }),
  ]);
  expect(traffic.rank('code')).toEqual([
    { model: 'a/b', share: 0.75 },
    { model: 'a/a', share: 0.25 },
  ]);
  expect(traffic.inputPrice('a/a')).toBe(1_000_000);
});

it('reads seven days at start in the background, and again every five minutes', async () => {
  const store = createStore();
  const { promise, resolve } = Promise.withResolvers<void>();
  store.gate = promise;
  store.rows = [row('code', 'a/small', 20, 1n)];
  const start = Date.now();
  const { traffic } = open(store);
  expect(traffic.rank('code')).toEqual([]);
  expect(traffic.averageCost('code', 'a/small')).toBeUndefined();

  resolve();
  await vi.advanceTimersByTimeAsync(0);
  expect(traffic.rank('code')).toEqual([{ model: 'a/small', share: 1 }]);

  store.rows = [row('code', 'a/large', 20, 1n)];
  await vi.advanceTimersByTimeAsync(5 * MINUTE_MS - 1);
  expect(traffic.rank('code')).toEqual([{ model: 'a/small', share: 1 }]);
  await vi.advanceTimersByTimeAsync(1);
  expect(traffic.rank('code')).toEqual([{ model: 'a/large', share: 1 }]);
  expect(store.reads).toEqual([start - 7 * DAY_MS, start - 7 * DAY_MS + 5 * MINUTE_MS]);
});

it('keeps the previous sums while the store fails, and reports it once per series', async () => {
  const store = createStore();
  store.rows = [row('code', 'a/small', 20, 1n)];
  const { traffic, refresh, troubles } = open(store);
  await refresh();
  store.isGone = true;
  await refresh();
  await vi.advanceTimersByTimeAsync(10 * MINUTE_MS);
  expect(traffic.rank('code')).toHaveLength(1);
  expect(troubles).toEqual(['Error: gone']);

  store.isGone = false;
  store.rows = [];
  await refresh();
  expect(traffic.rank('code')).toEqual([]);
  store.isGone = true;
  await refresh();
  expect(troubles).toHaveLength(2);
});

it('reads one at a time: a refresh during a read runs afterwards, and the timer waits', async () => {
  const store = createStore();
  const { promise, resolve } = Promise.withResolvers<void>();
  store.gate = promise;
  const { traffic, refresh } = open(store);
  await vi.advanceTimersByTimeAsync(60 * MINUTE_MS);
  expect(store.reads).toHaveLength(1);

  store.rows = [row('code', 'a/small', 20, 1n)];
  const refreshed = refresh();
  resolve();
  await refreshed;
  expect(store.reads).toHaveLength(2);
  expect(traffic.rank('code')).toHaveLength(1);
});

it('stops reading when it is closed, without errors', async () => {
  const store = createStore();
  const { promise, resolve } = Promise.withResolvers<void>();
  store.gate = promise;
  store.isGone = true;
  const { refresh, close, troubles } = open(store);
  close();
  resolve();
  await refresh();
  await vi.advanceTimersByTimeAsync(60 * MINUTE_MS);
  expect(store.reads).toHaveLength(1);
  expect(troubles).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});
