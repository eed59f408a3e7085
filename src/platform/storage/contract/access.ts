import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { noRateLimits } from '../../../domain/rate-limits.ts';
import type { Storage } from '../storage.ts';
import { createKeyRecord, type StoragePair } from './samples.ts';

/** Tests the contract of the revision, rate limits and order of keys, workspaces and members. */
export function testAccess(pair: () => StoragePair): void {
  describe('access', () => {
    it('sets the given rate limits of a member and a workspace, and keeps the others', async () => {
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
        await storage.access.setRateLimits({ kind, id }, { requests_per_minute: 5, concurrent_requests: 2 });
        await storage.access.setRateLimits({ kind, id }, { requests_per_minute: 6 });
      }
      const limits = { requests_per_minute: 6, tokens_per_minute: 0, concurrent_requests: 2 };
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

    it('replaces the saved plugins of a workspace, and nothing else', async () => {
      const { storage, other } = pair();
      const id = randomUUID();
      await storage.access.putWorkspace({ id, name: id, createdAtMs: 1 });
      await storage.access.setRateLimits({ kind: 'workspace', id }, { requests_per_minute: 5 });
      const read = async () =>
        (await other.access.listAppliedSettings()).find(({ workspaceId }) => workspaceId === id)?.defaultPlugins;
      for (const plugins of [[{ id: 'response-healing' }], [{ id: 'auto-router', cost_tier: 'low' }], []]) {
        await storage.access.setDefaultPlugins(id, plugins);
        expect(await read()).toEqual(plugins.length === 0 ? null : plugins);
      }
      expect(await other.management.findWorkspace(id)).toMatchObject({
        settings: { rateLimits: { requests_per_minute: 5 } },
      });
      const revision = await storage.access.readRevision();
      await storage.access.setDefaultPlugins(randomUUID(), [{ id: 'response-healing' }]);
      expect(await storage.access.readRevision()).toBe(revision);
    });

    it('lists the oldest first, and those of the same millisecond by the bytes of their ids', async () => {
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

    it('raises the revision for every process at each change, and only then', async () => {
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
        ['plugins', (by) => by.access.setDefaultPlugins(workspace, [{ id: 'response-healing' }])],
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

    it('counts every change if two processes make changes at once', async () => {
      const { storage, other } = pair();
      const before = await storage.access.readRevision();
      const keys = Array.from({ length: 20 }, () => createKeyRecord());
      await Promise.all(keys.map((key, index) => (index % 2 === 0 ? storage : other).access.putKey(key)));

      expect(await storage.access.readRevision()).toBe(before + keys.length);
      const kept = new Set((await other.access.listKeys()).map((key) => key.hash));
      expect(keys.every((key) => kept.has(key.hash))).toBe(true);
    });
  });
}
