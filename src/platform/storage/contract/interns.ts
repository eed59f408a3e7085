import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Intern, internStatuses } from '../../../domain/intern.ts';
import type { NewIntern } from '../ports/interns.ts';
import {
  allRows,
  change,
  createKeyRecord,
  createWorkspaceDetails,
  happening,
  type StoragePair,
  saveTestWorkspace,
} from './samples.ts';

const now = 1_790_000_000_000;

/** Tests the contract of interns. */
export function testInterns(pair: () => StoragePair): void {
  async function addWorkspace(): Promise<string> {
    const workspace = createWorkspaceDetails();
    await saveTestWorkspace(pair(), workspace);
    return workspace.id;
  }
  const createIntern = (fields: Partial<Intern>): Intern => ({
    id: randomUUID(),
    workspaceId: '',
    creatorId: 'ada',
    name: 'scout',
    description: 'd',
    instructions: 'i\0',
    model: null,
    status: 'awaiting_chat_install',
    hostname: null,
    vaultId: randomUUID(),
    hasVault: false,
    attachedVaultId: null,
    step: null,
    lastFailureMessage: null,
    failureReason: null,
    runtimeAddress: null,
    isStopRequested: false,
    acknowledgesLoss: false,
    createdAtMs: now,
    updatedAtMs: now,
    ...fields,
  });
  const add = (fields: Partial<Intern>, more: Partial<NewIntern> = {}) =>
    pair().storage.interns.addIntern({
      intern: createIntern(fields),
      requestHash: randomUUID(),
      bodyHash: 'b',
      maxPerMember: 100,
      canAttach: true,
      change,
      ...more,
    });
  const addNew = async (fields: Partial<Intern>): Promise<Intern> => {
    const result = await add(fields);
    if (result.refusal !== undefined) throw new Error(result.refusal);
    return result.intern;
  };

  describe('interns', () => {
    it('are created once for a request, also if two processes get it at once', async () => {
      const { storage, other } = pair();
      const workspaceId = await addWorkspace();
      const creatorId = randomUUID();
      const request = { requestHash: 'r', bodyHash: 'b', maxPerMember: 3, canAttach: true, change };
      const results = await Promise.all(
        [storage, other, storage].map(({ interns }) =>
          interns.addIntern({ intern: createIntern({ workspaceId, creatorId }), ...request }),
        ),
      );
      const ids = results.map((result) => (result.refusal === undefined ? result.intern.id : result.refusal));
      expect(new Set(ids).size).toBe(1);
      expect(results.filter((result) => result.refusal === undefined && result.isNew)).toHaveLength(1);
      expect(await add({ workspaceId, creatorId }, { ...request, bodyHash: 'other' })).toEqual({ refusal: 'body' });
      expect(await add({ workspaceId, creatorId })).toEqual({ refusal: 'name' });
      await addNew({ workspaceId, creatorId: randomUUID() });
      await addNew({ workspaceId: await addWorkspace(), creatorId });
      await addNew({ workspaceId, creatorId, name: 'third' });
      expect(await add({ workspaceId, creatorId, name: 'fourth' }, { maxPerMember: 3 })).toEqual({ refusal: 'limit' });
      expect(await add({ workspaceId, creatorId, name: 'fourth' }, { canAttach: false })).toEqual({ refusal: 'vault' });
      expect(await add({ workspaceId: randomUUID() })).toEqual({ refusal: 'workspace' });
      const { rows } = await storage.management.listAudit(allRows);
      expect(rows.filter(({ objectId }) => objectId === ids[0])).toMatchObject([
        { action: 'intern.create', objectKind: 'intern', workspaceId, changes: { name: { after: 'scout' } } },
      ]);
    });

    it('are found by id, hostname and vault, and listed by creator and status, the newest first', async () => {
      const { interns } = pair().other;
      const workspaceId = await addWorkspace();
      const first = await addNew({ workspaceId, name: 'a', hostname: `${randomUUID()}.test`, step: 2 });
      const second = await addNew({ workspaceId, name: 'b', createdAtMs: now + 1, status: 'running' });
      const third = await addNew({ workspaceId, name: 'c', createdAtMs: now + 1, creatorId: 'bob', hasVault: true });
      expect(await interns.findIntern(first.id)).toEqual({ ...first, instructions: 'i\ufffd' });
      expect(await interns.findInternByHostname(first.hostname!)).toMatchObject({ id: first.id });
      expect(await interns.findInternByVault(third.vaultId)).toMatchObject({ id: third.id, hasVault: true });
      expect(await interns.findIntern('\0')).toBeUndefined();
      const list = async (query: object) =>
        (await interns.listInterns({ workspaceId, limit: 9, ...query })).map(({ id }) => id);
      const newest = [second.id, third.id].sort().reverse();
      expect(await list({})).toEqual([...newest, first.id]);
      expect(await list({ limit: 1 })).toEqual([newest[0]]);
      expect(await list({ after: { createdAtMs: now + 1, id: newest[0] } })).toEqual([newest[1], first.id]);
      expect(await list({ creatorId: 'ada' })).toEqual([second.id, first.id]);
      expect(await list({ statuses: ['running', 'failed'] })).toEqual([second.id]);
      expect(await list({ statuses: ['failed'] })).toEqual([]);
      expect(await interns.listInterns({ workspaceId: randomUUID(), limit: 9 })).toEqual([]);
      const counts = await interns.countInternStatuses();
      expect(counts.find(({ status }) => status === 'running')?.count).toBeGreaterThan(0);
    });

    it('change only from the expected status, together with the job and the audit entry', async () => {
      const { storage, other } = pair();
      const workspaceId = await addWorkspace();
      const { id } = await addNew({ workspaceId });
      const kind = `kind-${id}`;
      const job = { id: `intern:${id}`, kind, payload: '1', dueAtMs: now };
      const event = happening({ objectId: id });
      const update = {
        id,
        from: ['awaiting_chat_install'] as const,
        fields: { status: 'queued' as const, hasVault: true },
        job,
        audit: { change, event },
      };
      const results = await Promise.all([storage, other].map(({ interns }) => interns.updateIntern(update)));
      expect(results.filter(Boolean)).toMatchObject([{ id, status: 'queued', hasVault: true }]);
      const claimed = await storage.jobs.claimJobs({
        kinds: [kind],
        holder: '',
        nowMs: now,
        limit: 9,
      });
      expect(claimed).toMatchObject([{ id: job.id, wakes: 1 }]);
      const { rows } = await storage.management.listAudit(allRows);
      expect(rows.filter(({ objectId, action }) => objectId === id && action === event.action)).toHaveLength(1);

      await addNew({ workspaceId, name: 'taken' });
      const rename = (name: string) =>
        storage.interns.updateIntern({ id, from: internStatuses, fields: { name, updatedAtMs: now + 7 } });
      expect(await rename('taken')).toBe('name');
      expect(await rename('free')).toMatchObject({ name: 'free', updatedAtMs: now + 7, status: 'queued' });
      const cleared = { description: null, instructions: null, step: 1, lastFailureMessage: 'why' };
      expect(await storage.interns.updateIntern({ id, from: ['queued'], fields: cleared })).toMatchObject(cleared);
    });

    it('keep the model and the instructions that they were provisioned with', async () => {
      const { interns } = pair().storage;
      const { id } = await addNew({ workspaceId: await addWorkspace(), status: 'queued' });
      expect(await interns.findProvisioned(id)).toEqual({ model: null, instructions: null });
      const take = { id, from: ['queued'] as const, provisions: true };
      await interns.updateIntern({ ...take, fields: { status: 'provisioning', model: 'a/b' } });
      await interns.updateIntern({ id, from: internStatuses, fields: { model: 'c/d', instructions: 'new' } });
      const before = await interns.findProvisioned(id);
      expect(before).toEqual({ model: null, instructions: 'i\ufffd' });
      await interns.updateIntern({ ...take, fields: { status: 'running' } }); // from another status
      expect(await pair().other.interns.findProvisioned(id)).toEqual(before);
      await interns.updateIntern({ ...take, from: ['provisioning'], fields: { status: 'running' } });
      expect(await interns.findProvisioned(id)).toEqual({ model: 'c/d', instructions: 'new' });
      expect(await interns.findProvisioned(randomUUID())).toBeUndefined();
    });

    it('are not changed by a process that lost the job', async () => {
      const { interns, jobs, management } = pair().storage;
      const workspaceId = await addWorkspace();
      const { id } = await addNew({ workspaceId, status: 'destroying' });
      const kind = `kind-${id}`;
      await jobs.wakeJob({ id: `intern:${id}`, kind, payload: '1', dueAtMs: now });
      const [stale] = await jobs.claimJobs({ kinds: [kind], holder: '', nowMs: now, limit: 1 });
      const [beat] = await jobs.listBeats([kind], 1);
      const lease = await jobs.takeOverJob(beat!, '');
      const write = (by: typeof stale) =>
        interns.updateIntern({ id, from: ['destroying'], fields: { runtimeAddress: 'x' }, lease: by });
      expect(await write(stale)).toBeUndefined();
      expect(await interns.deleteIntern(id, stale!, change)).toBe(false);
      const locks = (by: typeof stale) =>
        management.change(change, async (transaction) => {
          await transaction.record(happening());
          return transaction.lockJob(by!);
        });
      expect([await locks(stale), await locks(lease)]).toEqual([false, true]);
      expect(await interns.findIntern(id)).toMatchObject({ runtimeAddress: null });
      expect(await write(lease)).toMatchObject({ runtimeAddress: 'x' });
      expect(await interns.deleteIntern(id, lease!, change)).toBe(true);
      expect(await interns.findIntern(id)).toBeUndefined();
      expect(await interns.deleteIntern(id, lease!, change)).toBe(true);
    });

    it('are counted for their workspace, and their keys are deleted together', async () => {
      const { management, access } = pair().storage;
      const workspaceId = await addWorkspace();
      const { id } = await addNew({ workspaceId });
      const [own, foreign] = [createKeyRecord({ internId: id }), createKeyRecord()];
      await management.change(change, async (transaction) => {
        expect(await transaction.countInterns(workspaceId)).toBe(1);
        expect(await transaction.countInterns(randomUUID())).toBe(0);
        for (const key of [own, foreign]) await transaction.putKey(key);
        await transaction.record(happening());
      });
      expect(await access.listKeys()).toContainEqual(own);
      await management.change(change, async (transaction) => {
        expect(await transaction.deleteInternKeys(id)).toEqual([own]);
        expect(await transaction.deleteInternKeys(id)).toEqual([]);
        await transaction.record(happening());
      });
      const hashes = (await access.listKeys()).map(({ hash }) => hash);
      expect(hashes).toContain(foreign.hash);
      expect(hashes).not.toContain(own.hash);
    });
  });
}
