import { randomBytes, randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { noRateLimits } from '../../domain/rate-limits.ts';
import type { KeyRecord, Storage } from './storage.ts';

/** A key that no other test has; `fields` replace. */
export const createKeyRecord = (fields: Partial<KeyRecord> = {}): KeyRecord => ({
  hash: randomBytes(32).toString('hex'),
  name: 'app',
  label: 'sk-rt-v1-abc…xyz',
  kind: 'member',
  workspaceId: randomUUID(),
  memberId: 'ada',
  disabled: false,
  createdAtMs: 1_790_000_000_000,
  updatedAtMs: null,
  expiresAtMs: null,
  limitNanoUsd: null,
  limitReset: null,
  includeByokInLimit: false,
  rateLimits: noRateLimits,
  creatorUserId: 'ada',
  externalUser: null,
  ...fields,
});

/** The half of `contract.ts` about keys, workspaces and members. */
export function testAccessStore(pair: () => { storage: Storage; other: Storage }): void {
  const findKey = async (hash: string) => (await pair().storage.access.listKeys()).find((key) => key.hash === hash);

  it('keeps a key with all its fields', async () => {
    const full = createKeyRecord({
      name: 'Zürich 東京 🗝️',
      disabled: true,
      updatedAtMs: 1_790_000_000_001,
      expiresAtMs: 4_102_444_800_000,
      limitNanoUsd: 2n ** 60n + 1n,
      limitReset: 'weekly',
      includeByokInLimit: true,
      rateLimits: { requests_per_minute: 1, tokens_per_minute: 10 ** 12, concurrent_streams: 3 },
      externalUser: 'müller@example.org',
    });
    const sparse = createKeyRecord({ kind: 'management', workspaceId: '', memberId: null, creatorUserId: null });
    await pair().storage.access.putKey(full);
    await pair().storage.access.putKey(sparse);

    expect(await findKey(full.hash)).toEqual(full);
    expect(await findKey(sparse.hash)).toEqual(sparse);
  });

  it('remembers which keys a configuration brought, whatever becomes of them', async () => {
    const { access } = pair().storage;
    const [key, other] = [createKeyRecord(), createKeyRecord()];
    await access.putKey(key);
    await access.putKey(other);
    const revision = await access.readRevision();
    await access.markBootstrapKey(key.hash);
    await access.markBootstrapKey(createKeyRecord().hash); // there is none
    expect(await access.readRevision()).toBe(revision);
    await access.putKey({ ...key, name: 'renamed' });
    const marked = await pair().other.access.listBootstrapKeys();
    expect(marked.filter((hash) => [key.hash, other.hash].includes(hash))).toEqual([key.hash]);
  });

  it('replaces a key by its hash, all but the time of its creation', async () => {
    const key = createKeyRecord();
    const changed = createKeyRecord({
      hash: key.hash,
      name: 'renamed',
      label: 'sk-…',
      kind: 'organization',
      memberId: null,
      disabled: true,
      createdAtMs: key.createdAtMs + 5,
      updatedAtMs: key.createdAtMs + 7,
      expiresAtMs: key.createdAtMs + 9,
      limitNanoUsd: 5n,
      limitReset: 'daily',
      includeByokInLimit: true,
      rateLimits: { ...noRateLimits, tokens_per_minute: 7 },
      creatorUserId: null,
      externalUser: 'someone',
    });
    await pair().storage.access.putKey(key);
    await pair().storage.access.putKey(changed);

    expect(await findKey(key.hash)).toEqual({ ...changed, createdAtMs: key.createdAtMs });
  });

  it('disables and enables a key and returns it; there is none with an unknown hash', async () => {
    const { access } = pair().storage;
    const key = createKeyRecord();
    await access.putKey(key);
    const updatedAtMs = expect.any(Number) as number;

    expect(await access.setKeyDisabled(key.hash, true)).toEqual({ ...key, disabled: true, updatedAtMs });
    expect(await findKey(key.hash)).toEqual({ ...key, disabled: true, updatedAtMs });
    expect(await access.setKeyDisabled(key.hash, true)).toEqual({ ...key, disabled: true, updatedAtMs });
    expect(await access.setKeyDisabled(key.hash, false)).toEqual({ ...key, updatedAtMs });
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

    expect((await access.listMembers()).filter((member) => member.id === id)).toEqual([
      { id, createdAtMs: 5, rateLimits: noRateLimits },
    ]);
  });

  it('sets the rate limits that are named, of a member and a workspace, and keeps the others', async () => {
    const { storage, other } = pair();
    const id = randomUUID();
    await storage.access.putWorkspace({ id, name: id, createdAtMs: 1 });
    await storage.access.putMember({ id, createdAtMs: 1 });
    const read = async () => ({
      member: (await other.access.listMembers()).find((member) => member.id === id)?.rateLimits,
      workspace: (await other.access.listAppliedSettings()).find(({ workspaceId }) => workspaceId === id)?.rateLimits,
    });
    expect(await read()).toEqual({ member: noRateLimits, workspace: undefined });
    for (const kind of ['member', 'workspace'] as const) {
      await storage.access.setRateLimits({ kind, id }, { requests_per_minute: 5, concurrent_streams: 2 });
      await storage.access.setRateLimits({ kind, id }, { requests_per_minute: 6 });
    }
    const limits = { requests_per_minute: 6, tokens_per_minute: 0, concurrent_streams: 2 };
    expect(await read()).toEqual({ member: limits, workspace: limits });

    await storage.access.putMember({ id, createdAtMs: 2 });
    await storage.access.putWorkspace({ id, name: `${id}!`, createdAtMs: 2 });
    expect(await read()).toEqual({ member: limits, workspace: limits });
    const revision = await storage.access.readRevision();
    for (const kind of ['member', 'workspace'] as const) {
      await storage.access.setRateLimits({ kind, id: randomUUID() }, { requests_per_minute: 1 });
    }
    expect(await storage.access.readRevision()).toBe(revision);
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
    const key = createKeyRecord();
    const [member, workspace] = [randomUUID(), randomUUID()];
    const changes: [string, (by: Storage) => Promise<unknown>][] = [
      ['new key', (by) => by.access.putKey(key)],
      ['changed key', (by) => by.access.putKey({ ...key, memberId: null })],
      ['disabled key', (by) => by.access.setKeyDisabled(key.hash, true)],
      ['new workspace', (by) => by.access.putWorkspace({ id: workspace, name: 'main', createdAtMs: 1 })],
      ['renamed workspace', (by) => by.access.putWorkspace({ id: workspace, name: 'side', createdAtMs: 1 })],
      ['new member', (by) => by.access.putMember({ id: member, createdAtMs: 1 })],
      ['member limits', (by) => by.access.setRateLimits({ kind: 'member', id: member }, { tokens_per_minute: 5 })],
      [
        'workspace limits',
        (by) => by.access.setRateLimits({ kind: 'workspace', id: workspace }, { tokens_per_minute: 5 }),
      ],
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
    const keys = Array.from({ length: 20 }, () => createKeyRecord());
    await Promise.all(keys.map((key, index) => (index % 2 === 0 ? storage : other).access.putKey(key)));

    expect(await storage.access.readRevision()).toBe(before + keys.length);
    const kept = new Set((await other.access.listKeys()).map((key) => key.hash));
    expect(keys.every((key) => kept.has(key.hash))).toBe(true);
  });
}
