import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createId } from '../../domain/ids.ts';
import type { LedgerEntry } from '../../domain/ledger-entry.ts';
import type { KeyRecord, Storage } from './storage.ts';

/** A key that no other test has; `fields` replace. */
export const makeKey = (fields: Partial<KeyRecord> = {}): KeyRecord => ({
  hash: randomBytes(32).toString('hex'),
  name: 'app',
  label: 'sk-rt-v1-abc…xyz',
  kind: 'member',
  workspaceId: randomUUID(),
  memberId: 'ada',
  disabled: false,
  createdAtMs: 1_790_000_000_000,
  expiresAtMs: null,
  ...fields,
});

/** An entry that no other test has; `fields` replace. */
export const makeEntry = (fields: Partial<LedgerEntry> = {}): LedgerEntry => ({
  id: createId('gen-'),
  createdAtMs: 1_790_000_000_123,
  workspaceId: randomUUID(),
  keyHash: 'a'.repeat(64),
  memberId: 'ada',
  requestedModel: 'fast',
  model: 'acme/small',
  provider: 'Acme',
  outcome: 'completed',
  status: 200,
  errorType: null,
  streamed: true,
  inputTokens: 12,
  cachedTokens: 3,
  cacheWriteTokens: 2,
  outputTokens: 9,
  reasoningTokens: 4,
  costNanoUsd: 12_345n,
  priced: true,
  estimated: false,
  firstOutputMs: 80,
  durationMs: 240,
  sessionId: 'session-1',
  endUser: 'b'.repeat(64),
  ...fields,
});

/**
 * What every storage must do. Its tests share one database and make ids of their own.
 *
 * @param open opens the same database at each call, empty and without a schema at the first
 */
export function testStorage(name: string, open: () => Promise<Storage>): void {
  describe(`storage: ${name}`, () => {
    let storage: Storage;
    let other: Storage; // as another process sees it

    beforeAll(async () => {
      [storage, other] = await Promise.all([open(), open()]);
    });
    afterAll(async () => {
      await storage.close();
      await other.close();
    });

    it('makes its schema when two processes migrate at once, and again without harm', async () => {
      await Promise.all([storage.migrate(), other.migrate(), storage.migrate()]);
      await storage.migrate();

      expect(await storage.access.readRevision()).toBe(0);
      expect(await storage.access.listKeys()).toEqual([]);
      expect(await storage.access.listWorkspaces()).toEqual([]);
      expect(await storage.access.listMembers()).toEqual([]);
      expect(await storage.access.listMemberships()).toEqual([]);
      expect(await storage.ledger.readTotals()).toEqual({
        entries: 0,
        inputTokens: 0n,
        outputTokens: 0n,
        costNanoUsd: 0n,
      });
    });

    it('answers a ping, and rejects everything once it is closed', async () => {
      const third = await open();
      await third.ping();
      await third.close();
      await third.close();

      await expect(third.ping()).rejects.toThrow();
      await expect(third.access.listKeys()).rejects.toThrow();
      await expect(third.ledger.append([makeEntry()])).rejects.toThrow();
    });

    testAccess(() => ({ storage, other }));
    testLedger(() => ({ storage, other }));
  });
}

type Pair = () => { storage: Storage; other: Storage };

function testAccess(pair: Pair): void {
  const findKey = async (hash: string) => (await pair().storage.access.listKeys()).find((key) => key.hash === hash);

  it('keeps a key with all its fields', async () => {
    const full = makeKey({ name: 'Zürich 東京 🗝️', disabled: true, expiresAtMs: 4_102_444_800_000 });
    const sparse = makeKey({ kind: 'management', workspaceId: '', memberId: null });
    await pair().storage.access.putKey(full);
    await pair().storage.access.putKey(sparse);

    expect(await findKey(full.hash)).toEqual(full);
    expect(await findKey(sparse.hash)).toEqual(sparse);
  });

  it('replaces a key by its hash, all but the time of its creation', async () => {
    const key = makeKey();
    const changed = makeKey({
      hash: key.hash,
      name: 'renamed',
      label: 'sk-…',
      kind: 'organization',
      memberId: null,
      disabled: true,
      createdAtMs: key.createdAtMs + 5,
      expiresAtMs: key.createdAtMs + 9,
    });
    await pair().storage.access.putKey(key);
    await pair().storage.access.putKey(changed);

    expect(await findKey(key.hash)).toEqual({ ...changed, createdAtMs: key.createdAtMs });
  });

  it('disables and enables a key and returns it; there is none with an unknown hash', async () => {
    const { access } = pair().storage;
    const key = makeKey();
    await access.putKey(key);

    expect(await access.setKeyDisabled(key.hash, true)).toEqual({ ...key, disabled: true });
    expect(await findKey(key.hash)).toEqual({ ...key, disabled: true });
    expect(await access.setKeyDisabled(key.hash, true)).toEqual({ ...key, disabled: true });
    expect(await access.setKeyDisabled(key.hash, false)).toEqual(key);
    expect(await access.setKeyDisabled('0'.repeat(64), true)).toBeUndefined();
  });

  it('renames a workspace and keeps the time of its creation', async () => {
    const { access } = pair().storage;
    const id = randomUUID();
    await access.putWorkspace({ id, name: 'main', createdAtMs: 5 });
    await access.putWorkspace({ id, name: 'Größe 📦', createdAtMs: 6 });

    expect((await access.listWorkspaces()).filter((workspace) => workspace.id === id)).toEqual([
      { id, name: 'Größe 📦', createdAtMs: 5 },
    ]);
  });

  it('creates a member once', async () => {
    const { access } = pair().storage;
    const id = `müller ${randomUUID()}`;
    await access.putMember({ id, createdAtMs: 5 });
    await access.putMember({ id, createdAtMs: 6 });

    expect((await access.listMembers()).filter((member) => member.id === id)).toEqual([{ id, createdAtMs: 5 }]);
  });

  it('makes a member belong to exactly the workspaces given, each once', async () => {
    const { access } = pair().storage;
    const [ada, ben] = [randomUUID(), randomUUID()];
    const [a, b, c] = [randomUUID(), randomUUID(), randomUUID()].sort() as [string, string, string];
    for (const id of [a, b, c]) await access.putWorkspace({ id, name: id, createdAtMs: 1 });
    for (const id of [ada, ben]) await access.putMember({ id, createdAtMs: 1 });
    const read = async (memberId: string) =>
      (await access.listMemberships()).filter((row) => row.memberId === memberId).map((row) => row.workspaceId);

    await access.setMemberships(ada, [b, a, a]);
    await access.setMemberships(ben, [a]);
    expect(await read(ada)).toEqual([a, b]);
    await access.setMemberships(ada, [c, b]);
    expect(await read(ada)).toEqual([b, c]);
    await access.setMemberships(ada, []);
    expect(await read(ada)).toEqual([]);
    expect(await read(ben)).toEqual([a]);
  });

  it('refuses memberships of an unknown member or workspace, and changes nothing', async () => {
    const { access } = pair().storage;
    const [member, workspace] = [randomUUID(), randomUUID()];
    await access.putWorkspace({ id: workspace, name: 'main', createdAtMs: 1 });
    await access.putMember({ id: member, createdAtMs: 1 });
    await access.setMemberships(member, [workspace]);
    const before = { revision: await access.readRevision(), memberships: await access.listMemberships() };

    await expect(access.setMemberships(member, [randomUUID()])).rejects.toThrow();
    await expect(access.setMemberships(randomUUID(), [workspace])).rejects.toThrow();
    expect({ revision: await access.readRevision(), memberships: await access.listMemberships() }).toEqual(before);
  });

  it('lists oldest first, those of one moment by the bytes of their ids', async () => {
    const { access } = pair().storage;
    const mark = randomUUID();
    const ids = ['a', 'B', 'é', 'b', '_', '1'].map((letter) => `${mark} ${letter}`);
    for (const id of ids) {
      await access.putWorkspace({ id, name: id, createdAtMs: 7 });
      await access.putMember({ id, createdAtMs: 7 });
    }
    const early = { id: `${mark} z`, createdAtMs: 6 };
    await access.putWorkspace({ ...early, name: 'early' });
    await access.putMember(early);

    const expected = ['z', '1', 'B', '_', 'a', 'b', 'é'].map((letter) => `${mark} ${letter}`);
    const own = (list: { id: string }[]) => list.map(({ id }) => id).filter((id) => id.startsWith(mark));
    expect(own(await access.listWorkspaces())).toEqual(expected);
    expect(own(await access.listMembers())).toEqual(expected);
  });

  it('raises the revision at each change, for every process, and not when nothing changes', async () => {
    const { storage, other } = pair();
    const key = makeKey();
    const [member, workspace] = [randomUUID(), randomUUID()];
    const changes: [string, (by: Storage) => Promise<unknown>][] = [
      ['new key', (by) => by.access.putKey(key)],
      ['changed key', (by) => by.access.putKey({ ...key, memberId: null })],
      ['disabled key', (by) => by.access.setKeyDisabled(key.hash, true)],
      ['new workspace', (by) => by.access.putWorkspace({ id: workspace, name: 'main', createdAtMs: 1 })],
      ['renamed workspace', (by) => by.access.putWorkspace({ id: workspace, name: 'side', createdAtMs: 1 })],
      ['new member', (by) => by.access.putMember({ id: member, createdAtMs: 1 })],
      ['joined', (by) => by.access.setMemberships(member, [workspace])],
      ['left', (by) => by.access.setMemberships(member, [])],
    ];

    for (const [index, [what, change]] of changes.entries()) {
      const [by, seenBy] = index % 2 === 0 ? [storage, other] : [other, storage];
      const before = await seenBy.access.readRevision();
      await change(by);
      const after = await seenBy.access.readRevision();
      expect(after, what).toBeGreaterThan(before);
      await change(by);
      expect(await seenBy.access.readRevision(), `${what}, again`).toBe(after);
    }
  });

  it('counts every change when two processes change at once', async () => {
    const { storage, other } = pair();
    const before = await storage.access.readRevision();
    const keys = Array.from({ length: 20 }, () => makeKey());
    await Promise.all(keys.map((key, index) => (index % 2 === 0 ? storage : other).access.putKey(key)));

    expect(await storage.access.readRevision()).toBe(before + keys.length);
    const kept = new Set((await other.access.listKeys()).map((key) => key.hash));
    expect(keys.every((key) => kept.has(key.hash))).toBe(true);
  });
}

function testLedger(pair: Pair): void {
  it('keeps an entry with all its fields', async () => {
    const { ledger } = pair().storage;
    const full = makeEntry({ outcome: 'failed', status: 502, errorType: 'provider_unavailable', estimated: true });
    const sparse = makeEntry({
      memberId: null,
      model: null,
      provider: null,
      streamed: false,
      priced: false,
      firstOutputMs: null,
      sessionId: null,
      endUser: null,
    });
    await ledger.append([full, sparse]);

    expect(await ledger.find(full.workspaceId, full.id)).toEqual(full);
    expect(await ledger.find(sparse.workspaceId, sparse.id)).toEqual(sparse);
  });

  it('does not find an entry of another workspace, nor one that is not there', async () => {
    const { ledger } = pair().storage;
    const entry = makeEntry();
    await ledger.append([entry]);

    expect(await ledger.find(randomUUID(), entry.id)).toBeUndefined();
    expect(await ledger.find(entry.workspaceId, createId('gen-'))).toBeUndefined();
    expect(await ledger.find(entry.workspaceId, 'gen-\0')).toBeUndefined();
  });

  it('keeps text that a caller made up, with what no database can hold replaced, and whole milliseconds', async () => {
    const { ledger } = pair().storage;
    const entry = makeEntry({ requestedModel: 'a\0b', sessionId: 'half \ud83d', endUser: '東京 🗼', durationMs: 1.6 });
    await ledger.append([entry]);

    expect(await ledger.find(entry.workspaceId, entry.id)).toEqual({
      ...entry,
      requestedModel: 'a\ufffdb',
      sessionId: 'half \ufffd',
      durationMs: 2,
    });
  });

  it('keeps money and tokens above 2^53, and sums them exactly', async () => {
    const { ledger } = pair().storage;
    const workspaceId = randomUUID();
    const large = 2n ** 61n + 1n;
    const inputTokens = Number.MAX_SAFE_INTEGER;
    const entries = [1, 2, 3].map(() => makeEntry({ workspaceId, costNanoUsd: large, inputTokens, outputTokens: 1 }));
    await ledger.append(entries);

    expect((await ledger.find(workspaceId, entries[0]!.id))?.costNanoUsd).toBe(large);
    expect(await ledger.readTotals(workspaceId)).toEqual({
      entries: 3,
      inputTokens: 3n * BigInt(inputTokens),
      outputTokens: 3n,
      costNanoUsd: 3n * large,
    });
    await ledger.append([makeEntry({ workspaceId, costNanoUsd: -3n * large })]); // so that the sum over all stays small
  });

  it('sums over one workspace, or over all', async () => {
    const { ledger } = pair().storage;
    const before = await ledger.readTotals();
    const [a, b] = [randomUUID(), randomUUID()];
    await ledger.append([makeEntry({ workspaceId: a }), makeEntry({ workspaceId: a }), makeEntry({ workspaceId: b })]);

    const one = { inputTokens: 12n, outputTokens: 9n, costNanoUsd: 12_345n };
    expect(await ledger.readTotals(b)).toEqual({ entries: 1, ...one });
    expect(await ledger.readTotals(randomUUID())).toMatchObject({ entries: 0, costNanoUsd: 0n });
    expect(await ledger.readTotals()).toEqual({
      entries: before.entries + 3,
      inputTokens: before.inputTokens + 3n * one.inputTokens,
      outputTokens: before.outputTokens + 3n * one.outputTokens,
      costNanoUsd: before.costNanoUsd + 3n * one.costNanoUsd,
    });
  });

  it('books an entry once: a second one with its id changes nothing', async () => {
    const { ledger } = pair().storage;
    const entry = makeEntry();
    const again = { ...entry, costNanoUsd: 1n, outcome: 'failed' as const };
    await ledger.append([entry, again]);
    await ledger.append([again, makeEntry({ workspaceId: entry.workspaceId })]);

    expect(await ledger.find(entry.workspaceId, entry.id)).toEqual(entry);
    expect(await ledger.readTotals(entry.workspaceId)).toMatchObject({ entries: 2, costNanoUsd: 24_690n });
  });

  it('books each entry once when two processes append overlapping ones at once, in any order', async () => {
    const { storage, other } = pair();
    const workspaceId = randomUUID();
    const entries = Array.from({ length: 300 }, () => makeEntry({ workspaceId }));
    const appends = Array.from({ length: 8 }, (_, index) => {
      const some = entries.slice(index * 20, index * 20 + 160);
      return (index % 2 === 0 ? storage : other).ledger.append(index % 3 === 0 ? some.reverse() : some);
    });
    await Promise.all(appends);

    expect(await storage.ledger.readTotals(workspaceId)).toMatchObject({ entries: 300, costNanoUsd: 300n * 12_345n });
  });

  it.each([0, 1, 999, 1000, 1001, 5000])('appends %i entries', async (count) => {
    const { ledger } = pair().storage;
    const workspaceId = randomUUID();
    await ledger.append(Array.from({ length: count }, () => makeEntry({ workspaceId })));

    expect(await ledger.readTotals(workspaceId)).toMatchObject({ entries: count });
  });

  it('appends none when one cannot be booked, however many there are', async () => {
    const { ledger } = pair().storage;
    const workspaceId = randomUUID();
    const entries = Array.from({ length: 2500 }, () => makeEntry({ workspaceId }));
    const wrong = makeEntry({ id: 'gen-~', workspaceId, costNanoUsd: 2n ** 63n }); // sorts last, and is too much

    await expect(ledger.append([...entries, wrong])).rejects.toThrow();
    expect(await ledger.readTotals(workspaceId)).toMatchObject({ entries: 0 });
    await ledger.append(entries);
    expect(await ledger.readTotals(workspaceId)).toMatchObject({ entries: 2500 });
  });
}
