import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { GatewayError } from '../domain/errors.ts';
import { createOpenRequests } from './open-requests.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const watch = (promise: Promise<void>) => {
  const state = { settled: false };
  void promise.then(() => {
    state.settled = true;
  });
  return state;
};
const turn = () => vi.advanceTimersByTimeAsync(0);

it('settles at once if nothing is open', async () => {
  await createOpenRequests().settled(1000);
  expect(vi.getTimerCount()).toBe(0);
});

it('settles when all open requests have ended, regardless of later ones', async () => {
  const open = createOpenRequests();
  const [endOne, endTwo] = [open.begin(), open.begin()];
  const wait = watch(open.settled(1000));
  open.begin();
  endOne();
  endOne();
  await turn();
  expect(wait.settled).toBe(false);
  endTwo();
  await turn();
  expect(wait.settled).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

it('settles at the limit', async () => {
  const open = createOpenRequests();
  open.begin();
  const wait = watch(open.settled(1000));
  await vi.advanceTimersByTimeAsync(999);
  expect(wait.settled).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(wait.settled).toBe(true);
});

it('aborts open requests with the reason, but not ended ones', () => {
  const open = createOpenRequests();
  const [stays, ends] = [vi.fn(), vi.fn()];
  open.begin(stays);
  open.begin();
  open.begin(ends)();
  const reason = new GatewayError('unavailable', 'The end.');
  open.abort(reason);
  expect(stays.mock.calls).toEqual([[reason]]);
  expect(ends).not.toHaveBeenCalled();
});
