import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { ConsoleSession } from '../ports/console.ts';
import type { StoragePair } from './samples.ts';

/** Tests the contract of the console's sessions and links. */
export function testConsole(pair: () => StoragePair): void {
  describe('the console', () => {
    const live = { seenSinceMs: 1000, createdSinceMs: 500 };
    const make = (fields: Partial<ConsoleSession> = {}): ConsoleSession => ({
      id: randomUUID(),
      tokenHash: randomUUID(),
      keyHash: randomUUID(),
      client: 'A browser\0',
      createdAtMs: 900,
      seenAtMs: 1000,
      ...fields,
    });
    const read = (session: ConsoleSession) => ({ ...session, client: 'A browser\ufffd' });

    it('keeps sessions until they have not been used for a time, or are old', async () => {
      const { storage, other } = pair();
      const [session, unused, old] = [make(), make({ seenAtMs: 999 }), make({ createdAtMs: 499 })];
      for (const each of [unused, old, session]) await storage.console.addSession(each, live, 9);
      expect(await other.console.findSession(session.tokenHash, live)).toEqual(read(session));
      expect(await other.console.findSession(session.id, live)).toBeUndefined();
      for (const { tokenHash } of [unused, old]) {
        expect(await other.console.findSession(tokenHash, live)).toBeUndefined();
      }
      const later = { seenSinceMs: 2000, createdSinceMs: 500 };
      expect(await other.console.findSession(session.tokenHash, later)).toBeUndefined();
      await other.console.touchSession(session.id, 2000);
      expect(await storage.console.findSession(session.tokenHash, later)).toEqual(read({ ...session, seenAtMs: 2000 }));
    });

    it('lists and deletes the sessions of one key, or of all', async () => {
      const { storage, other } = pair();
      const first = make({ createdAtMs: 901 });
      const second = make({ keyHash: first.keyHash, createdAtMs: 902 });
      const foreign = make();
      for (const each of [first, second, foreign]) await storage.console.addSession(each, live, 9);
      const { keyHash } = first;
      const page = { ...live, offset: 0, limit: 9 };
      expect(await other.console.listSessions({ ...page, keyHash })).toEqual({
        rows: [read(second), read(first)],
        total: 2,
      });
      expect(await other.console.listSessions({ ...page, keyHash, offset: 1, limit: 1 })).toEqual({
        rows: [read(first)],
        total: 2,
      });
      expect((await other.console.listSessions(page)).total).toBeGreaterThanOrEqual(3);
      expect(await other.console.deleteSession(foreign.id, keyHash)).toBe(false);
      expect(await other.console.deleteSession(first.id, keyHash)).toBe(true);
      expect(await other.console.deleteSession(first.id)).toBe(false);
      expect(await storage.console.deleteSession(foreign.id)).toBe(true);
      expect((await storage.console.listSessions({ ...page, keyHash })).rows).toEqual([read(second)]);
    });

    it('keeps a number of sessions for each key: those that were used last', async () => {
      const { storage, other } = pair();
      const keyHash = randomUUID();
      const [foreign, ...own] = [make(), ...[1001, 1004, 1002, 1003].map((seenAtMs) => make({ keyHash, seenAtMs }))];
      for (const each of [foreign!, ...own]) await storage.console.addSession(each, live, 3);
      const { rows } = await other.console.listSessions({ ...live, offset: 0, limit: 9, keyHash });
      expect(rows.map(({ seenAtMs }) => seenAtMs).toSorted()).toEqual([1002, 1003, 1004]);
      expect(await other.console.findSession(foreign!.tokenHash, live)).toEqual(read(foreign!));
    });

    it('has links that several processes can use only once, until they expire', async () => {
      const { storage, other } = pair();
      const [link, late] = [1, 2].map(() => ({ tokenHash: randomUUID(), keyHash: randomUUID(), expiresAtMs: 1000 }));
      for (const each of [link!, late!]) await storage.console.addLink(each, 999);
      const taken = await Promise.all(
        [storage, other, storage].map((each) => each.console.takeLink(link!.tokenHash, 999)),
      );
      expect(taken.filter((keyHash) => keyHash !== undefined)).toEqual([link!.keyHash]);
      expect(await other.console.takeLink(late!.tokenHash, 1000)).toBeUndefined();
    });
  });
}
