import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Storage } from '../storage.ts';
import {
  createKeyRecord,
  createWorkspaceDetails,
  happening,
  type StoragePair,
  change,
  saveTestWorkspace,
  allRows,
} from './samples.ts';

/** Tests the contract of changes and their audit entries. */
export function testChanges(pair: () => StoragePair): void {
  describe('changes', () => {
    it('makes a change, records it and raises the revision for every process', async () => {
      const { storage, other } = pair();
      const key = createKeyRecord({ limitNanoUsd: 5n });
      const told = happening({
        objectId: key.hash,
        workspaceId: key.workspaceId,
        changes: { name: { before: null, after: 'Größe \0 \ud83d' } },
      });
      const before = await other.access.readRevision();

      const result = await storage.management.change(change, async (transaction) => {
        await transaction.putKey(key);
        await transaction.record(told);
        return 'done';
      });

      expect(result).toBe('done');
      expect(await other.access.readRevision()).toBe(before + 1);
      expect(await other.management.findKey(key.hash)).toEqual(key);
      const { rows } = await other.management.listAudit({ offset: 0, limit: 1 });
      expect(rows).toEqual([{ ...told, ...change, id: expect.stringMatching(/^audit_[0-9A-Za-z]{24}$/) }]);
    });

    it.each([
      ['the work fails', true],
      ['nothing is recorded', false],
    ])('changes nothing if %s', async (_, fails) => {
      const { access, management } = pair().storage;
      const key = createKeyRecord();
      const before = [await access.readRevision(), (await management.listAudit(allRows)).total];

      const made = management.change(change, async (transaction) => {
        await transaction.putKey(key);
        if (!fails) return;
        await transaction.record(happening());
        throw new Error('not so');
      });

      if (fails) await expect(made).rejects.toThrow('not so');
      else await made;
      expect([await access.readRevision(), (await management.listAudit(allRows)).total]).toEqual(before);
      expect(await management.findKey(key.hash)).toBeUndefined();
    });

    it('makes changes of two processes one after the other, and lists the newest first', async () => {
      const { storage, other } = pair();
      const id = randomUUID();
      await saveTestWorkspace(pair(), createWorkspaceDetails({ id, name: `${id} 0` }));
      const count = async (by: Storage) =>
        by.management.change(change, async (transaction) => {
          const found = (await transaction.findWorkspace(id))!;
          const number = Number(found.name.split(' ')[1]) + 1;
          await transaction.saveWorkspace({ ...found, name: `${id} ${number}` });
          await transaction.record(happening({ action: `first ${number}`, objectId: id }));
          await transaction.record(happening({ action: `second ${number}`, objectId: id }));
        });
      await Promise.all(Array.from({ length: 20 }, (_, index) => count(index % 2 === 0 ? storage : other)));

      expect((await storage.management.findWorkspace(id))?.name).toBe(`${id} 20`);
      const { rows } = await other.management.listAudit(allRows);
      const expected = Array.from({ length: 20 }, (_, index) => [`second ${20 - index}`, `first ${20 - index}`]).flat();
      expect(rows.filter((row) => row.objectId === id).map((row) => row.action)).toEqual(expected);
      expect(await other.management.listAudit({ offset: 1, limit: 2 })).toMatchObject({ rows: rows.slice(1, 3) });
    });
  });
}
