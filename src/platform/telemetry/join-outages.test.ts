import { expect, it, vi } from 'vitest';
import { joinOutages } from './join-outages.ts';
import type { WriteLog } from './log-messages.ts';
import { OutageLog } from './outage-log.ts';

function open({ hasCounters = false } = {}) {
  const lines: Record<string, unknown>[] = [];
  const log: WriteLog = (message, fields, level) => void lines.push({ message, ...fields, ...(level && { level }) });
  const ping = vi.fn(async () => {});
  const outages = new OutageLog(log);
  const joined = joinOutages({ log, reports: outages.observe(), ping, hasCounters, retryMs: 1 });
  return { lines, ping, outages, ...joined };
}
const err = new Error('connect ECONNREFUSED');

it('an outage of the store is one line, and its end another, whatever needs the store', async () => {
  const { lines, ping, write, close } = open();
  ping.mockRejectedValue(err);
  write('bus disconnected', { err });
  write('ledger write failed', { err, queued: 1 });
  write('cost capped', {});
  await expect.poll(() => lines.length).toBe(4);
  expect(lines).toEqual([
    { message: 'cost capped' },
    { message: 'store unavailable', err },
    { message: 'bus disconnected', err, level: 'debug' },
    { message: 'ledger write failed', err, queued: 1, level: 'debug' },
  ]);
  ping.mockResolvedValue();
  await expect.poll(() => lines.length).toBe(5);
  expect(lines[4]).toEqual({ message: 'store recovered', outage_ms: expect.any(Number) });
  write('ledger write recovered');
  write('bus reconnected');
  await expect.poll(() => lines.length).toBe(7);
  expect(lines.slice(5)).toEqual([
    { message: 'ledger write recovered', level: 'debug' },
    { message: 'bus reconnected', level: 'debug' },
  ]);
  close();
});

it('a failure of a store that responds stays a line, with its recovery', async () => {
  const { lines, write, close } = open();
  write('ledger write failed', { err });
  write('ledger write recovered');
  await expect.poll(() => lines.length).toBe(2);
  expect(lines).toEqual([{ message: 'ledger write failed', err }, { message: 'ledger write recovered' }]);
  close();
});

it('counters in the store have no outage of their own', async () => {
  const { lines, ping, write, close } = open({ hasCounters: true });
  write('counters unavailable', { err });
  await expect.poll(() => lines).toEqual([{ message: 'counters unavailable', err }]);
  write('counters recovered');
  await expect.poll(() => lines.length).toBe(2);
  ping.mockRejectedValue(err);
  write('counters unavailable', { err });
  await expect
    .poll(() => lines.slice(2))
    .toEqual([
      { message: 'store unavailable', err },
      { message: 'counters unavailable', err, level: 'debug' },
    ]);
  close();
});

it('an outage that several processes observe ends with the last of them, or with its process', () => {
  const { lines, outages } = open();
  const gone = new AbortController();
  const [first, second] = [outages.observe(), outages.observe(gone.signal)];
  first.begin('counters', { err, on_failure: 'open' });
  second.begin('counters', { err });
  first.end('counters');
  first.end('counters');
  expect(lines).toEqual([{ message: 'counters unavailable', err, on_failure: 'open' }]);
  gone.abort();
  expect(lines.slice(1)).toEqual([{ message: 'counters recovered', outage_ms: expect.any(Number) }]);
  second.begin('counters', { err });
  expect(lines).toHaveLength(2);
});
