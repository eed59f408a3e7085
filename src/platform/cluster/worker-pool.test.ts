import { describe, expect, it } from 'vitest';
import { WorkerPool, type WorkerPoolParts, type PoolMember } from './worker-pool.ts';

interface TestMember extends PoolMember {
  slot: number;
  die(how: string): void;
}

/** Creates workers that live until the test ends them. */
function hire(
  size: number,
  fails: (slot: number, start: number) => Error | undefined = () => undefined,
  time: Pick<WorkerPoolParts<TestMember>, 'now' | 'pause'> = {},
) {
  const started: TestMember[] = [];
  const lines: Record<string, unknown>[] = [];
  let starts = 0;
  const pool = new WorkerPool<TestMember>({
    size,
    ...time,
    async start(slot) {
      const failure = fails(slot, starts++);
      if (failure) throw failure;
      const { promise: ended, resolve: die } = Promise.withResolvers<string>();
      const member = { slot, pid: 100 + starts, ended, die };
      started.push(member);
      return member;
    },
    log: (message, fields) => void lines.push({ message, ...fields }),
  });
  const ended: number[] = [];
  const end = async (member: TestMember) => {
    ended.push(member.slot);
    member.die('code 0');
  };
  return { pool, started, lines, ended, end };
}

describe('a worker pool', () => {
  it('starts and ends all workers', async () => {
    const { pool, started, ended, end, lines } = hire(3);
    await pool.open(end);
    expect(started.map(({ slot }) => slot)).toEqual([0, 1, 2]);
    await pool.close(end);
    expect(ended).toEqual([0, 1, 2]);
    expect(lines).toEqual([]);
  });

  it('fails to open if one worker cannot start: the others end, and its error is thrown', async () => {
    const { pool, started, ended, end } = hire(3, (slot) => (slot === 1 ? new Error('no disk') : undefined));
    await expect(pool.open(end)).rejects.toThrow('no disk');
    expect(started).toHaveLength(2);
    expect(ended).toEqual([0, 2]);
  });

  it('replaces a worker that died, and logs it', async () => {
    const { pool, started, lines, end } = hire(2);
    await pool.open(end);
    started[1]!.die('SIGKILL');
    await expect.poll(() => started.map(({ slot }) => slot)).toEqual([0, 1, 1]);
    expect(lines).toEqual([{ message: 'worker ended', worker: 1, pid: 102, ending: 'SIGKILL' }]);
    expect(pool.replaced).toBe(1);
    await pool.close(end);
  });

  it('waits longer after each failure of a worker, and finally gives up', async () => {
    const pauses: number[] = [];
    const life = { ms: 60_000 };
    let nowMs = 0;
    const { pool, started, end } = hire(1, () => undefined, {
      now: () => nowMs,
      async pause(ms) {
        pauses.push(ms);
      },
    });
    await pool.open(end);
    const failure = pool.failed.catch((error: Error) => error.message);
    const die = async () => {
      const { length } = started;
      nowMs += life.ms;
      started.at(-1)!.die('code 1');
      await expect.poll(() => started.length, { interval: 1 }).toBe(length + 1);
    };
    for (let at = 0; at < 3; at++) await die();
    life.ms = 10;
    for (let at = 0; at < 9; at++) await die();
    started.at(-1)!.die('code 1');

    expect(await failure).toBe('Worker 0 ended 10 times in a row. See the log above for the reasons.');
    expect(pauses).toEqual([0, 0, 0, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
    await pool.close(end);
  });

  it('counts a failed start as a short life', async () => {
    const fails = (_: number, start: number) => (start === 0 ? undefined : new Error('full'));
    const { pool, started, lines, end } = hire(1, fails, { pause: async () => {} });
    await pool.open(end);
    started[0]!.die('SIGKILL');
    await expect(pool.failed).rejects.toThrow('Worker 0 ended 10 times in a row.');
    const line = { message: 'worker start failed', worker: 0, err: new Error('full') };
    expect(lines.slice(1)).toEqual(Array.from({ length: 9 }, () => line));
    await pool.close(end);
  });

  it('ends a worker that starts to serve during the shutdown', async () => {
    const { promise: late, resolve: goOn } = Promise.withResolvers<void>();
    const ended: number[] = [];
    let starts = 0;
    const pool = new WorkerPool<TestMember>({
      size: 1,
      async start(slot) {
        const pid = ++starts;
        if (pid === 2) await late;
        const { promise, resolve } = Promise.withResolvers<string>();
        const member = { slot, pid, ended: promise, die: resolve };
        if (pid === 1) resolve('SIGKILL');
        return member;
      },
      log: () => {},
    });
    const end = async (member: TestMember) => {
      ended.push(member.pid);
      member.die('code 0');
    };
    await pool.open(end);
    await expect.poll(() => starts).toBe(2);
    const closed = pool.close(end);
    goOn();
    await closed;
    expect(ended).toEqual([2]);
  });
});
