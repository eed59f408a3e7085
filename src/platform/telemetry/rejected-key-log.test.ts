import { expect, it } from 'vitest';
import { GatewayError } from '../../domain/errors.ts';
import type { WriteLog } from './log-messages.ts';
import type { ObservedAttempt } from './observed.ts';
import { RejectedKeyLog } from './rejected-key-log.ts';

function open() {
  const lines: unknown[] = [];
  let nowMs = 0;
  const write: WriteLog = (message, fields) => void lines.push({ message, ...fields });
  return { log: new RejectedKeyLog(write, () => nowMs), lines, wait: (ms: number) => (nowMs += ms) };
}

const attempt = (
  key: number | undefined,
  kind: 'upstream_key_rejected' | 'upstream_failed' = 'upstream_key_rejected',
) =>
  ({
    endpoint: { provider: { id: 'acme', name: 'Acme' } },
    error: new GatewayError(kind, 'Acme rejects the key: sk-1.', { loggedMessage: 'Acme rejects the key' }),
    key,
  }) as Pick<ObservedAttempt, 'endpoint' | 'error' | 'key'>;

it('logs a key once, each key of a provider, and no other failure', () => {
  const { log, lines } = open();
  expect([0, 1, 0, 1].map((key) => log.noteAttempt(attempt(key)))).toEqual([true, true, true, true]);
  expect(log.noteAttempt(attempt(0, 'upstream_failed'))).toBe(false);
  expect(lines).toEqual([
    { message: 'provider key rejected', provider: 'acme', key: 1, error: 'Acme rejects the key', count: 1 },
    { message: 'provider key rejected', provider: 'acme', key: 2, error: 'Acme rejects the key', count: 1 },
  ]);
});

it('logs a key again after an hour, with the rejections since then', () => {
  const { log, lines, wait } = open();
  for (let count = 0; count < 5; count++) log.noteService('search exa', { status: 401, rejectsKey: true });
  wait(3_600_000);
  log.noteService('search exa', { status: 403, rejectsKey: true });
  expect(log.noteService('search exa', { status: 500, rejectsKey: false })).toBe(false);
  expect(lines).toEqual([
    { message: 'service key rejected', service: 'search exa', status: 401, count: 1 },
    { message: 'service key rejected', service: 'search exa', status: 403, count: 5 },
  ]);
});
