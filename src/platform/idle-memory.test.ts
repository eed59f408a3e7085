import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { releaseIdleMemory } from './idle-memory.ts';

const MB = 1024 * 1024;
const period = 2000;
let stop: (() => void) | undefined;
beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  stop?.();
  vi.useRealTimers();
});

function watch() {
  const world = { begun: 0, open: 0, held: 142 * MB, collections: 0 };
  stop = releaseIdleMemory({
    begun: () => world.begun,
    open: () => world.open,
    held: () => world.held,
    async collect() {
      world.collections++;
      world.held = 107 * MB;
    },
  });
  return world;
}

describe('a process that has nothing to do', () => {
  it('gives back once what the start has taken', async () => {
    const world = watch();
    await vi.advanceTimersByTimeAsync(period);
    expect(world).toMatchObject({ collections: 1, held: 107 * MB });
    await vi.advanceTimersByTimeAsync(100 * period);
    expect(world.collections).toBe(1);
  });

  it('waits for the end of what is under way, and for a period without a request', async () => {
    const world = watch();
    world.open = 1;
    await vi.advanceTimersByTimeAsync(10 * period);
    world.open = 0;
    world.begun = 1;
    await vi.advanceTimersByTimeAsync(period);
    expect(world.collections).toBe(0);
    await vi.advanceTimersByTimeAsync(period);
    expect(world.collections).toBe(1);
  });

  it('does so again a minute after a burst that took much, and not for a probe now and then', async () => {
    const world = watch();
    await vi.advanceTimersByTimeAsync(period);
    for (let probe = 0; probe < 10; probe++) {
      world.begun++;
      world.held += MB;
      await vi.advanceTimersByTimeAsync(3 * period);
    }
    expect(world.collections).toBe(1);
    world.begun += 1000;
    world.held += 100 * MB;
    await vi.advanceTimersByTimeAsync(60_000 - period);
    expect(world.collections).toBe(1); // it may be needed again at once
    await vi.advanceTimersByTimeAsync(2 * period);
    expect(world.collections).toBe(2);
  });

  it('keeps its optimized code if short loads return', async () => {
    const world = watch();
    await vi.advanceTimersByTimeAsync(period);
    for (let load = 0; load < 5; load++) {
      world.begun += 1000;
      world.held = 107 * MB + 24 * MB;
      await vi.advanceTimersByTimeAsync(70_000);
    }
    expect(world.collections).toBe(1);
  });
});
