import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import type { SendExchange } from '../platform/outbound/exchange.ts';
import { OutboundError } from '../platform/outbound/outbound-error.ts';
import type { OwnedJob } from '../platform/jobs/run-jobs.ts';
import { createAlertWork } from './send-alert.ts';

const webhook = { id: 'ops', url: 'https://alerts.example.com/t0k3n', format: 'json' as const };
const alert = { id: 'a', kind: 'test', message: 'This is a test.', data: {} };
const job = {
  id: 'job',
  payload: JSON.stringify({ webhook: 'ops', atMs: 5, alert }),
  wakes: 1,
  signal: new AbortController().signal,
} as OwnedJob; // the parts that the work reads

const refuse: SendExchange = async () => {
  throw new OutboundError('blocked_address');
};

it.each([
  [true, 'rejects'],
  [false, 'resolves'],
] as const)('sends to a webhook that was added by API (%s) by the rules for outbound requests', async (isStored, how) => {
  const sent: string[] = [];
  const accept: SendExchange = async (url) => {
    sent.push(url);
    return { status: 200, headers: {}, body: Readable.from([]) };
  };
  const readWebhooks = async () => [{ ...webhook, isStored }];
  const work = createAlertWork({ readWebhooks, send: accept, sendOutbound: refuse, now: () => 6, log() {} });
  if (how === 'resolves') await expect(work(job)).resolves.toEqual({ wakes: 1 });
  else await expect(work(job)).rejects.toThrow('The webhook "ops" cannot be reached (blocked_address).');
  expect(sent).toHaveLength(isStored ? 0 : 1);
});

it('logs an alert for a webhook that needs another master key, and does not send it', async () => {
  const logged: unknown[] = [];
  const readWebhooks = async () => [{ ...webhook, url: '', isStored: true, isLocked: true }];
  const log = (...line: unknown[]) => void logged.push(line);
  const work = createAlertWork({ readWebhooks, send: refuse, sendOutbound: refuse, now: () => 6, log });
  await expect(work(job)).resolves.toEqual({ wakes: 1 });
  const detail = 'the webhook needs another master key';
  expect(logged).toEqual([['alert not delivered', { webhook: 'ops', alert: 'a', detail }]]);
});
