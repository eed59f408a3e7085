import { expect, it } from 'vitest';
import { ByteBudget } from './byte-budget.ts';

const MIB = 1024 * 1024;
const isDone = async (promise: Promise<void> | undefined): Promise<boolean> =>
  promise === undefined || Promise.race([promise.then(() => true), Promise.resolve().then(() => false)]);

it('does not count small responses', () => {
  const budget = new ByteBudget(() => 1);
  const shares = Array.from({ length: 100 }, () => budget.share());
  expect(shares.map((share) => share.hold(64 * 1024))).toEqual(shares.map(() => undefined));
});

it('lets large ones wait in order, and go on as others end', async () => {
  const budget = new ByteBudget(() => 16 * MIB);
  const [first, second, third, fourth] = Array.from({ length: 4 }, () => budget.share());
  expect([first!.hold(MIB), second!.hold(MIB)]).toEqual([undefined, undefined]);
  const [waits, waitsLonger] = [third!.hold(MIB), fourth!.hold(MIB)];
  expect(await isDone(waits)).toBe(false);
  first!.free();
  await waits;
  expect(await isDone(waitsLonger)).toBe(false);
  third!.free();
  await waitsLonger;
});

it('reserves once: a response that grows continues', () => {
  const budget = new ByteBudget(() => 8 * MIB);
  const share = budget.share();
  expect([share.hold(MIB), share.hold(100 * MIB)]).toEqual([undefined, undefined]);
});

it('lets one that is larger than all of it go alone', async () => {
  const budget = new ByteBudget(() => MIB);
  const [large, other] = [budget.share(), budget.share()];
  expect(large.hold(50 * MIB)).toBeUndefined();
  const waits = other.hold(MIB);
  expect(await isDone(waits)).toBe(false);
  large.free();
  await waits;
});

it('releases a waiter that is cancelled', async () => {
  const budget = new ByteBudget(() => 8 * MIB);
  const [first, leaves, last] = [budget.share(), budget.share(), budget.share()];
  first.hold(MIB);
  const [gone, waits] = [leaves.hold(MIB), last.hold(MIB)];
  leaves.free();
  await gone;
  expect(await isDone(waits)).toBe(false);
  first.free();
  await waits;
  last.free();
  last.free();
  expect(budget.share().hold(MIB)).toBeUndefined();
});
