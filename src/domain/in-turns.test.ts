import { expect, it } from 'vitest';
import { inTurns } from './in-turns.ts';

/** Work that a test ends. */
function openWork() {
  const ends: ((error?: Error) => void)[] = [];
  const call = inTurns(
    () =>
      new Promise((resolve, reject) => {
        ends.push((error) => (error ? reject(error) : resolve()));
      }),
  );
  return { call, ends };
}

it('runs once more for all calls during a run', async () => {
  const { call, ends } = openWork();
  const first = call();
  const others = Array.from({ length: 5 }, call);
  expect(ends).toHaveLength(1);
  ends[0]!();
  await first;
  await expect.poll(() => ends.length).toBe(2);
  ends[1]!();
  await Promise.all(others);
  expect(ends).toHaveLength(2);
});

it('rejects only for the calls that waited for the failed run', async () => {
  const { call, ends } = openWork();
  const first = call();
  const second = call();
  ends[0]!(new Error('gone'));
  await expect(first).rejects.toThrow('gone');
  await expect.poll(() => ends.length).toBe(2);
  const third = call(); // called during the second run
  ends[1]!();
  await second;
  await expect.poll(() => ends.length).toBe(3);
  ends[2]!();
  await third;
});

it('runs immediately when idle', async () => {
  const { call, ends } = openWork();
  for (let time = 0; time < 3; time++) {
    const done = call();
    expect(ends).toHaveLength(time + 1);
    ends[time]!();
    await done;
  }
});
