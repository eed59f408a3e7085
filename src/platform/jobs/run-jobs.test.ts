import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openSqliteStorage } from '../storage/sqlite/open.ts';
import type { JobStore } from '../storage/ports/jobs.ts';
import type { Storage } from '../storage/storage.ts';
import { JobLostError, type JobRunner, JobsClosedError, type JobWork, type OwnedJob, runJobs } from './run-jobs.ts';

const leaseMs = 1000;
let storage: Storage;
let clockMs: number;
const runners: JobRunner[] = [];
const troubles: unknown[] = [];

beforeEach(async () => {
  vi.useFakeTimers();
  clockMs = 1_790_000_000_000;
  storage = await openSqliteStorage(':memory:');
  await storage.migrate();
});
afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.close()));
  await storage.close();
  troubles.length = 0;
  vi.useRealTimers();
});

const started = Date.now();
const silent: string[] = [];
function start(work: JobWork, store: JobStore = storage.jobs): JobRunner {
  const runner = runJobs({
    store,
    holder: 'host',
    now: () => clockMs,
    leaseMs,
    pollMs: 100,
    retryMs: 500,
    elapsed: () => Date.now() - started, // the faked time
    kinds: [{ kind: 'test', work, maxOwned: () => 2 }],
    onTrouble: (error) => void troubles.push(error),
    onSilent: async (id) => void silent.push(id),
  });
  runners.push(runner);
  return runner;
}
const wake = (id: string, payload = '{}') => storage.jobs.wakeJob({ id, kind: 'test', payload, dueAtMs: clockMs });
const pass = async (ms: number) => {
  for (let left = ms; left > 0; left -= 50) {
    clockMs += Math.min(left, 50);
    await vi.advanceTimersByTimeAsync(Math.min(left, 50));
  }
};
/** A store that stops to respond, as in a process that is paused or killed. */
function createFailingStore() {
  const state = { fails: false, hangs: false };
  const hanging: (() => void)[] = [];
  const store = new Proxy(storage.jobs, {
    get:
      (target, name: keyof JobStore) =>
      // Calls of methods with any parameters.
      (...args: unknown[]) => {
        if (state.hangs) return new Promise((_, reject) => hanging.push(() => reject(new Error('It took too long.'))));
        if (state.fails) return Promise.reject(new Error('The store is away.'));
        return (target[name] as (...given: unknown[]) => unknown)(...args);
      },
  });
  const resume = () => {
    state.hangs = false;
    for (const reject of hanging.splice(0)) reject();
  };
  return { store, state, resume };
}

describe('jobs', () => {
  it('are done once, with at most as many at a time as the process may own', async () => {
    const done: string[] = [];
    const ends = new Map<string, () => void>();
    const runner = start(async ({ id, wakes, payload }) => {
      await new Promise<void>((resolve) => ends.set(id, resolve));
      done.push(`${id} ${payload}`);
      return { wakes };
    });
    for (const id of ['a', 'b', 'c']) await wake(id, `"${id}"`);
    runner.notify();
    await pass(10);
    expect([...ends.keys()]).toEqual(['a', 'b']);
    expect(runner.owned).toBe(2);
    ends.get('a')!();
    await pass(10);
    expect([...ends.keys()]).toEqual(['a', 'b', 'c']);
    ends.get('b')!();
    ends.get('c')!();
    await pass(5000);
    expect(done).toEqual(['a "a"', 'b "b"', 'c "c"']);
    expect(await storage.jobs.listBeats(['test'], 9)).toEqual([]);
  });

  it('are tried again after a delay that doubles, and forget failures with progress', async () => {
    const tries: [number, number][] = [];
    const began = clockMs;
    start(async (job) => {
      tries.push([clockMs - began, job.failures]);
      if (tries.length === 3) await job.saveCheckpoint('1');
      if (tries.length < 5) throw new Error('no');
      return { wakes: job.wakes };
    });
    await wake('a');
    await pass(6000);
    expect(tries.map(([, failures]) => failures)).toEqual([0, 1, 2, 1, 2]);
    const delays = tries.slice(1).map(([at], index) => Math.round((at - tries[index]![0]) / 500));
    expect(delays).toEqual([1, 2, 1, 2]);
    expect(troubles).toHaveLength(4);
  });

  it('go to another process later if there is no place', async () => {
    let tries = 0;
    start(async ({ wakes, failures }) => {
      expect(failures).toBe(0);
      return ++tries === 1 ? { retryInMs: 3000 } : { wakes };
    });
    await wake('a');
    await pass(2000);
    expect(tries).toBe(1);
    await pass(2000);
    expect(tries).toBe(2);
  });

  it('are done again if they were requested meanwhile, and wake their owner', async () => {
    const seen: number[] = [];
    const runner = start(async (job) => {
      seen.push(job.wakes);
      await job.waitForWake(100_000);
      return { wakes: job.wakes };
    });
    await wake('a');
    await pass(200);
    await wake('a');
    runner.notify('a');
    await pass(300);
    expect(seen).toEqual([1, 2]);
    await wake('a'); // without a notification: the renewal of the lease tells
    await pass(leaseMs);
    expect(seen).toEqual([1, 2]);
    await pass(200);
    expect(await storage.jobs.listBeats(['test'], 9)).toEqual([]);
  });

  it('are taken over from a process that hangs, also if clocks jump, and not from one that works', async () => {
    const paused = createFailingStore();
    const owners: string[] = [];
    const jobs: OwnedJob[] = [];
    const hold =
      (name: string): JobWork =>
      async (job) => {
        owners.push(name);
        jobs.push(job);
        await new Promise<void>((resolve) => job.signal.addEventListener('abort', () => resolve(), { once: true }));
        job.signal.throwIfAborted();
        return { wakes: job.wakes };
      };
    start(hold('first'), paused.store);
    await wake('a');
    await pass(200);
    start(hold('second'));
    for (let left = 50; left > 0; left--) {
      clockMs += left % 2 ? 3_600_000 : -3_600_000;
      await pass(100);
    }
    expect(owners).toEqual(['first']);
    expect(silent).toEqual([]);
    paused.state.hangs = true;
    await pass(leaseMs * 1.3);
    expect(jobs[0]!.signal.reason).toBeInstanceOf(JobLostError);
    expect(owners).toEqual(['first']); // not before its work has ended
    expect(silent).toEqual(['a']);
    await pass(leaseMs * 1.5);
    expect(silent).toEqual(['a']); // once
    expect(owners).toEqual(['first', 'second']);
    paused.resume();
    await expect(jobs[0]!.saveCheckpoint('late')).rejects.toThrow(JobLostError);
    expect(await storage.jobs.finishJob(jobs[0]!.lease, 1)).toBe('lost');
  });

  it('survive an outage of the store, which is reported once', async () => {
    const { store, state } = createFailingStore();
    let [running, lost] = [0, 0];
    start(async (job) => {
      running++;
      await job.waitForWake(100_000);
      if (job.signal.reason instanceof JobLostError) lost++;
      job.signal.throwIfAborted();
      return { wakes: job.wakes };
    }, store);
    await wake('a');
    await pass(200);
    state.fails = true;
    await pass(leaseMs * 0.7);
    state.fails = false;
    await pass(leaseMs);
    expect([running, lost, troubles.length]).toEqual([1, 0, 1]);
    state.fails = true;
    await pass(leaseMs * 2);
    expect([running, lost]).toEqual([1, 1]);
    expect(troubles).toHaveLength(2);
    state.fails = false;
    await pass(3000);
    expect(running).toBe(2);
  });

  it('are given back on shutdown, without a failure', async () => {
    const runner = start(async (job) => {
      await job.waitForWake(100_000);
      expect(job.signal.reason).toBeInstanceOf(JobsClosedError);
      job.signal.throwIfAborted();
      return { wakes: 1 };
    });
    await wake('a');
    await pass(200);
    await runner.close();
    const claim = { kinds: ['test'], holder: '', nowMs: clockMs, limit: 1 };
    expect(await storage.jobs.claimJobs(claim)).toMatchObject([{ id: 'a', failures: 0, wakes: 1 }]);
    expect(troubles).toEqual([]);
  });
});
