import { expect, it, vi } from 'vitest';
import { Cancellation } from './cancellation.ts';
import { GatewayError } from './errors.ts';

const left = new GatewayError('client_closed', 'The client disconnected.');
const late = new GatewayError('request_timeout', 'Too late.');

it('calls each listener once, with the first reason', () => {
  const cancellation = new Cancellation();
  const [one, two] = [{ cancelled: vi.fn() }, { cancelled: vi.fn() }];
  cancellation.add(one);
  cancellation.add(two);
  cancellation.cancel(left);
  cancellation.cancel(late);
  for (const { cancelled } of [one, two]) expect(cancelled.mock.calls).toEqual([[left]]);
  expect(cancellation.reason).toBe(left);
});

it('does not call a removed listener, even if it is removed during the call of another', () => {
  const cancellation = new Cancellation();
  const gone = { cancelled: vi.fn() };
  cancellation.add(gone);
  cancellation.remove(gone);
  cancellation.remove(gone);
  cancellation.cancel(left);
  expect(gone.cancelled).not.toHaveBeenCalled();
});

it('gives an abort signal, before and after it is cancelled', () => {
  const before = new Cancellation();
  const { signal } = before;
  expect(signal.aborted).toBe(false);
  before.cancel(left);
  expect(signal).toMatchObject({ aborted: true, reason: left });
  expect(before.signal).toBe(signal);
  const after = new Cancellation();
  after.cancel(late);
  expect(after.signal).toMatchObject({ aborted: true, reason: late });
});
