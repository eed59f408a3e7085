import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { noRateLimits } from '../../../domain/rate-limits.ts';
import { createKeyRecord, happening, type StoragePair, change } from './samples.ts';

/** Tests the contract of keys. */
export function testKeyStore(pair: () => StoragePair): void {
  describe('keys', () => {
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
        rateLimits: { requests_per_minute: 1, tokens_per_minute: 10 ** 12, concurrent_requests: 3 },
        externalUser: 'müller@example.org',
      });
      const sparse = createKeyRecord({ kind: 'management', workspaceId: '', memberId: null, creatorUserId: null });
      await pair().storage.access.putKey(full);
      await pair().storage.access.putKey(sparse);

      expect(await findKey(full.hash)).toEqual(full);
      expect(await findKey(sparse.hash)).toEqual(sparse);
    });

    it('remembers the keys that a configuration defined, whatever happens to them', async () => {
      const { access } = pair().storage;
      const [key, other] = [createKeyRecord(), createKeyRecord()];
      await access.putKey(key);
      await access.putKey(other);
      const revision = await access.readRevision();
      await access.markBootstrapKey(key.hash, true);
      await access.markBootstrapKey(createKeyRecord().hash, true); // this key does not exist
      expect(await access.readRevision()).toBe(revision);
      await access.putKey({ ...key, name: 'renamed' });
      const marked = await pair().other.access.listBootstrapKeys();
      expect(marked.filter((hash) => [key.hash, other.hash].includes(hash))).toEqual([key.hash]);
      await access.markBootstrapKey(key.hash, false);
      expect(await access.listBootstrapKeys()).not.toContain(key.hash);
    });

    it('replaces a key by its hash, except its creation time', async () => {
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

    it('disables and enables a key and returns it, or undefined for an unknown hash', async () => {
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

    it('lists inference keys of a workspace or of all, the newest first, page by page', async () => {
      const { access, management } = pair().storage;
      const workspaceId = randomUUID();
      const times = [1, 2, 3, 4].map((ms) => 1_990_000_000_000 + ms);
      const keys = times.map((createdAtMs, index) =>
        createKeyRecord({ workspaceId, createdAtMs, disabled: index === 2 }),
      );
      for (const key of keys) await access.putKey(key);
      await access.putKey(createKeyRecord({ workspaceId, kind: 'management', createdAtMs: times[3]! + 1 }));
      const [first, second, third, fourth] = keys;

      const list = (query: object) =>
        management.listKeys({ workspaceId, includeDisabled: true, offset: 0, limit: 9, ...query });
      expect(await list({})).toEqual([fourth, third, second, first]);
      expect(await list({ includeDisabled: false })).toEqual([fourth, second, first]);
      expect(await list({ offset: 1, limit: 2 })).toEqual([third, second]);
      expect(await list({ workspaceId: randomUUID() })).toEqual([]);
      expect((await list({ workspaceId: undefined, limit: 1 }))[0]).toEqual(fourth);
    });

    it('deletes a key, counts the inference keys of a workspace and finds their owners', async () => {
      const { access, management } = pair().storage;
      const workspaceId = randomUUID();
      const key = createKeyRecord({ workspaceId, memberId: 'ada' });
      await access.putKey(key);
      await access.putKey(createKeyRecord({ workspaceId, memberId: 'ben', disabled: true }));
      await access.putKey(createKeyRecord({ workspaceId, kind: 'management', memberId: null }));

      await management.change(change, async (transaction) => {
        expect(await transaction.countKeys(workspaceId)).toBe(2);
        expect(await transaction.findKeyOwners(workspaceId, ['ada', 'ben', 'cleo'])).toEqual(['ada']);
        await transaction.deleteKey(key.hash);
        expect(await transaction.countKeys(workspaceId)).toBe(1);
        await transaction.record(happening());
      });
      expect(await management.findKey(key.hash)).toBeUndefined();
      expect((await access.listKeys()).some(({ hash }) => hash === key.hash)).toBe(false);
    });
  });
}
