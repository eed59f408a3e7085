import { expect, it } from 'vitest';
import { inTurns } from './in-turns.ts';

/** Work that ends when it is told to. */
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

it('does the work one more time for all who come while it is done', async () => {
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

it('tells a failure to those alone who waited for it', async () => {
  const { call, ends } = openWork();
  const first = call();
  const second = call();
  ends[0]!(new Error('gone'));
  await expect(first).rejects.toThrow('gone');
  await expect.poll(() => ends.length).toBe(2);
  const third = call(); // comes during the second
  ends[1]!();
  await second;
  await expect.poll(() => ends.length).toBe(3);
  ends[2]!();
  await third;
});

it('begins at once when nothing is under way', async () => {
  const { call, ends } = openWork();
  for (let time = 0; time < 3; time++) {
    const done = call();
    expect(ends).toHaveLength(time + 1);
    ends[time]!();
    await done;
  }
});
