import { afterEach, describe, expect, it, vi } from 'vitest';
import { Cancellation } from './cancellation.ts';
import { GatewayError } from './errors.ts';
import { FairPlaces, type PlaceLimits } from './fair-places.ts';

function open(limits: PlaceLimits) {
  const places = new FairPlaces(
    () => limits,
    () => new GatewayError('unavailable', 'The queue is full.'),
  );
  const running: string[] = [];
  const leaves: (() => void)[] = [];
  const refused: string[] = [];
  /** Begins work with a name, whose first letter is its owner. */
  const begin = (name: string, cancellation = new Cancellation()): void => {
    void places.enter(name[0]!, cancellation).then(
      (leave) => {
        running.push(name);
        leaves.push(() => {
          running.splice(running.indexOf(name), 1);
          leave();
        });
      },
      () => refused.push(name),
    );
  };
  /** Ends the oldest work, and lets the next one begin. */
  const end = async (): Promise<void> => {
    leaves.shift()!();
    await settle();
  };
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  };
  return { begin, end, settle, running, refused, places };
}

it('an owner leaves the last place to others, and they take turns', async () => {
  const { begin, end, settle, running, refused } = open({ places: 3, queue: 10 });
  for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1']) begin(name);
  await settle();
  expect(running).toEqual(['a1', 'a2', 'b1']);
  await end(); // a1; c has nothing that runs
  expect(running).toEqual(['a2', 'b1', 'c1']);
  await end(); // a2: the owner whose turn was longest ago
  expect(running).toEqual(['b1', 'c1', 'a3']);
  await end(); // b1
  expect(running).toEqual(['c1', 'a3', 'b2']);
  await end(); // c1
  expect(running).toEqual(['a3', 'b2', 'a4']);
  for (let left = 3; left > 0; left--) await end();
  expect(running).toEqual([]);
  expect(refused).toEqual([]);
});

it('one place is for everybody, and owners can have a limit of their own', async () => {
  const single = open({ places: 1, queue: 10 });
  for (const name of ['a1', 'a2', 'b1']) single.begin(name);
  await single.settle();
  expect(single.running).toEqual(['a1']);
  await single.end();
  expect(single.running).toEqual(['a2']);
  const limited = open({ places: 4, perOwner: 4, queue: 10 });
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) limited.begin(name);
  await limited.settle();
  expect(limited.running).toEqual(['a1', 'a2', 'a3', 'a4']);
  expect(limited.places.share).toBe(4);
});

it('a full queue refuses the owner that has most', async () => {
  const { begin, end, settle, running, refused } = open({ places: 2, queue: 4 });
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'b1', 'b2', 'c1', 'b3']) begin(name);
  await settle();
  // a1 and b1 run. a2 to a5 fill the queue; b2 and c1 take the places of a5 and a4.
  expect(running).toEqual(['a1', 'b1']);
  expect(refused).toEqual(['a6', 'a5', 'a4', 'b3']);
  for (let left = 6; left > 0; left--) await end();
  expect([running, refused.length]).toEqual([[], 4]);
});

it('forgets work that is cancelled while it waits, and does not begin work that was cancelled', async () => {
  const { begin, end, settle, running, refused } = open({ places: 1, queue: 1 });
  const cancellation = new Cancellation();
  begin('a1');
  begin('a2', cancellation);
  begin('b1'); // the queue is full
  cancellation.cancel(new GatewayError('client_closed', 'The client disconnected.'));
  begin('c1');
  begin('d1', cancellation);
  await settle();
  expect([running, refused]).toEqual([
    ['a1'],
    ['b1', 'd1', 'a2'].toSorted((x, y) => refused.indexOf(x) - refused.indexOf(y)),
  ]);
  await end();
  expect(running).toEqual(['c1']);
});

describe('work that makes way', () => {
  const turnMs = 1000;
  afterEach(() => vi.useRealTimers());

  /** Begins work that runs until it is stopped or ended. The first letter of its name is its owner. */
  function openRuns(limits: Omit<PlaceLimits, 'turnMs'>) {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const places = new FairPlaces(
      () => ({ ...limits, turnMs }),
      () => new GatewayError('unavailable', 'The queue is full.'),
    );
    const running = new Map<string, () => void>();
    const ended: string[] = [];
    const begin = (name: string, cancellation = new Cancellation()): void => {
      const work = (stop: Pick<Cancellation, 'add'>) =>
        new Promise<string>((resolve, reject) => {
          running.set(name, () => resolve(name));
          stop.add({ cancelled: reject });
        }).finally(() => running.delete(name));
      void places.run(name[0]!, cancellation, work).then(
        () => ended.push(name),
        (error: Error) => ended.push(`${name}: ${error.message}`),
      );
    };
    const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
    const end = async (name: string): Promise<void> => {
      running.get(name)!();
      await pass(0);
    };
    return { begin, end, pass, ended, running: () => [...running.keys()] };
  }

  it('is the newest of the owner with most, and is done again', async () => {
    const { begin, end, pass, running, ended } = openRuns({ places: 3, queue: 10 });
    for (const name of ['a1', 'a2', 'b1', 'b2']) begin(name);
    await pass(turnMs);
    expect(running()).toEqual(['a1', 'a2', 'b1']); // b has work that runs
    begin('c1');
    await pass(0);
    expect(running()).toEqual(['a1', 'b1', 'c1']);
    await end('c1');
    expect(running()).toEqual(['a1', 'b1', 'b2']); // its turn was longest ago
    await end('b1');
    expect(running()).toEqual(['a1', 'b2', 'a2']);
    for (const name of ['a1', 'b2', 'a2']) await end(name);
    expect(ended).toEqual(['c1', 'b1', 'a1', 'b2', 'a2']);
  });

  it('has its turn first', async () => {
    const { begin, pass, running } = openRuns({ places: 3, queue: 10 });
    for (const name of ['a1', 'b1', 'c1', 'd1']) begin(name);
    await pass(turnMs - 1);
    expect(running()).toEqual(['a1', 'b1', 'c1']);
    await pass(1);
    expect(running()).toEqual(['a1', 'b1', 'd1']);
  });

  it('makes way once: each new owner has a place within a turn, and all work ends', async () => {
    const { begin, end, pass, running, ended } = openRuns({ places: 3, queue: 100 });
    const names = Array.from('abcdefghijklmnopqrst', (owner) => `${owner}1`);
    for (const name of names) {
      begin(name);
      await pass(turnMs);
      expect(running()).toContain(name);
    }
    while (running().length > 0) await end(running()[0]!);
    expect(ended.toSorted()).toEqual(names);
  });

  it('is cancelled while it waits to be done again', async () => {
    const { begin, pass, running, ended } = openRuns({ places: 1, queue: 10 });
    const cancellation = new Cancellation();
    begin('a1', cancellation);
    begin('b1');
    await pass(turnMs);
    expect(running()).toEqual(['b1']);
    cancellation.cancel(new GatewayError('client_closed', 'The client disconnected.'));
    await pass(0);
    expect(ended).toEqual(['a1: The client disconnected.']);
  });
});
