import { expect, it } from 'vitest';
import type { ConsoleSession, ConsoleStore, LiveSessions } from '../platform/storage/ports/console.ts';
import { createCsrfToken, findSession, isCsrfToken, liveSessions, sessionEndMs } from './console-sessions.ts';

const hourMs = 3_600_000;
const session = (createdMsAgo: number, seenMsAgo: number): ConsoleSession => ({
  id: 's',
  tokenHash: 't',
  keyHash: 'k',
  client: '',
  createdAtMs: Date.now() - createdMsAgo,
  seenAtMs: Date.now() - seenMsAgo,
});
const isLive = ({ seenAtMs, createdAtMs }: ConsoleSession, live: LiveSessions): boolean =>
  seenAtMs >= live.seenSinceMs && createdAtMs >= live.createdSinceMs;

it.each([
  ['used 11.9 hours ago', session(20 * hourMs, 11.9 * hourMs), true],
  ['used 12.1 hours ago', session(20 * hourMs, 12.1 * hourMs), false],
  ['created 30 days ago and used now', session(30.1 * 24 * hourMs, 0), false],
  ['created 29 days ago and used now', session(29 * 24 * hourMs, 0), true],
])('a session that was %s has the end that the guide says', (_what, one, expected) => {
  expect(isLive(one, liveSessions())).toBe(expected);
  expect(sessionEndMs(one) > Date.now()).toBe(expected);
});

it('a cookie of another form does not reach the store', async () => {
  const store = {} as ConsoleStore; // every call would throw
  for (const token of ['', 'x', 'A'.repeat(44), `${'A'.repeat(42)};`]) {
    expect(await findSession(store, token)).toBeUndefined();
  }
});

it('a CSRF token belongs to one cookie, and does not contain it', () => {
  const [one, other] = ['a'.repeat(43), 'b'.repeat(43)];
  expect(isCsrfToken(createCsrfToken(one), one)).toBe(true);
  expect(isCsrfToken(createCsrfToken(other), one)).toBe(false);
  expect(isCsrfToken('', one)).toBe(false);
  expect(createCsrfToken(one)).not.toContain(one);
});
