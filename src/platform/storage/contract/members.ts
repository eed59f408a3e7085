import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { noRateLimits } from '../../../domain/rate-limits.ts';
import { createWorkspaceDetails, happening, type StoragePair, change, saveTestWorkspace, allRows } from './samples.ts';

/** Tests the contract of members. */
export function testMembers(pair: () => StoragePair): void {
  describe('members', () => {
    it('creates a member once', async () => {
      const { access } = pair().storage;
      const id = `müller ${randomUUID()}`;
      await access.putMember({ id, createdAtMs: 5 });
      await access.putMember({ id, createdAtMs: 6 });

      expect((await access.listMembers()).filter((member) => member.id === id)).toEqual([
        { id, createdAtMs: 5, rateLimits: noRateLimits },
      ]);
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

    it('rejects memberships of an unknown member or workspace, and changes nothing', async () => {
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

    it('keeps the members of a workspace, with their time and role', async () => {
      const { access, management } = pair().storage;
      const workspace = createWorkspaceDetails();
      await saveTestWorkspace(pair(), workspace);
      const [ada, ben, cleo] = ['ada', 'ben', 'cleo'].map((name) => `${name} ${workspace.id}`) as [
        string,
        string,
        string,
      ];
      await management.change(change, async (transaction) => {
        for (const [index, memberId] of [ada, ben].entries()) {
          expect(await transaction.findMember(memberId)).toBeUndefined();
          const member = { id: memberId, createdAtMs: 1, rateLimits: noRateLimits };
          await transaction.saveMember(member);
          expect(await transaction.findMember(memberId)).toEqual(member);
          const membership = { workspaceId: workspace.id, memberId, role: 'member' as const, createdAtMs: 20 - index };
          await transaction.joinWorkspace(membership);
          await transaction.joinWorkspace({ ...membership, createdAtMs: 99 });
        }
        await transaction.record(happening());
      });
      await access.putMember({ id: cleo, createdAtMs: 1 });
      await access.setMemberships(cleo, [workspace.id]);

      const page = { offset: 0, limit: 10 };
      const { rows, total } = await management.listWorkspaceMembers(workspace.id, page);
      expect(total).toBe(3);
      expect(rows).toEqual([
        { workspaceId: workspace.id, memberId: ben, role: 'member', createdAtMs: 19 },
        { workspaceId: workspace.id, memberId: ada, role: 'member', createdAtMs: 20 },
        { workspaceId: workspace.id, memberId: cleo, role: 'member', createdAtMs: expect.any(Number) },
      ]);
      expect(await management.listWorkspaceMembers(workspace.id, { offset: 1, limit: 1 })).toEqual({
        rows: [rows[1]],
        total: 3,
      });
      await management.change(change, async (transaction) => {
        expect(await transaction.findWorkspaceMembers(workspace.id, [ada, 'nobody'])).toEqual([rows[1]]);
        await transaction.leaveWorkspace(workspace.id, ada);
        await transaction.record(happening());
      });
      expect(await management.listWorkspaceMembers(workspace.id, page)).toEqual({ rows: [rows[0], rows[2]], total: 2 });
    });

    it('replaces a member by its id, except its creation time, and lists the oldest first', async () => {
      const { storage, other } = pair();
      const ids = [randomUUID(), randomUUID()] as const;
      const [late, later] = [3_000_000_000_001, 3_000_000_000_002];
      await storage.access.putMember({ id: ids[1], createdAtMs: later });
      await storage.access.putMember({ id: ids[0], createdAtMs: late });
      const rateLimits = { requests_per_minute: 5, tokens_per_minute: 10 ** 12, concurrent_requests: 0 };
      await storage.management.change(change, async (transaction) => {
        await transaction.saveMember({ id: ids[1], createdAtMs: 1, rateLimits });
        await transaction.record(happening());
      });

      const changed = { id: ids[1], createdAtMs: later, rateLimits };
      expect(await other.management.findMember(ids[1])).toEqual(changed);
      expect(await other.management.findMember('nobody\0')).toBeUndefined();
      const { rows, total } = await other.management.listMembers(allRows);
      expect(rows.slice(-2)).toEqual([{ id: ids[0], createdAtMs: late, rateLimits: noRateLimits }, changed]);
      expect(await other.management.listMembers({ offset: total - 1, limit: 1 })).toEqual({ rows: [changed], total });
    });
  });
}
