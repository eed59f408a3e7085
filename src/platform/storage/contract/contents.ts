import { describe, expect, it } from 'vitest';
import type { ContentRecord } from '../../../domain/content-record.ts';
import { createTimedId } from '../../../domain/ids.ts';
import { createWorkspaceDetails, happening, type StoragePair, change } from './samples.ts';

/** Tests the contract of stored inputs and outputs. */
export function testContents(pair: () => StoragePair): void {
  describe('contents', () => {
    const addWorkspace = async (): Promise<string> => {
      const workspace = createWorkspaceDetails();
      await pair().storage.management.change(change, async (transaction) => {
        await transaction.saveWorkspace(workspace);
        await transaction.record(happening());
      });
      return workspace.id;
    };
    const makeContent = (workspaceId: string, fields: Partial<ContentRecord> = {}): ContentRecord => ({
      id: createTimedId('gen-'),
      workspaceId,
      createdAtMs: 1_790_000_000_000,
      input: JSON.stringify({ items: [{ type: 'message', content: 'Zürich 東京 🗝️ \0 \ud800' }] }),
      output: '[]',
      error: null,
      isCut: false,
      ...fields,
    });

    it('keeps a content once, and finds it until its workspace is deleted', async () => {
      const { storage, other } = pair();
      const workspaceId = await addWorkspace();
      const [first, second] = [
        makeContent(workspaceId),
        makeContent(workspaceId, { error: '{"code":502}', isCut: true }),
      ];
      await storage.contents.append([]);
      await storage.contents.append([first, second]);
      await other.contents.append([{ ...first, output: '["again"]' }]);

      expect(await other.contents.find(first.id)).toEqual(first);
      expect(await other.contents.find(second.id)).toEqual(second);
      expect(await other.contents.listKept([first.id, createTimedId('gen-')])).toEqual([first.id]);
      expect(await other.contents.listKept([])).toEqual([]);
      expect(await storage.contents.find(createTimedId('gen-'))).toBeUndefined();
      expect(await storage.contents.find('gen-\0')).toBeUndefined();

      await storage.management.change(change, async (transaction) => {
        await transaction.deleteWorkspace(workspaceId);
        await transaction.record(happening());
      });
      expect(await storage.contents.find(first.id)).toBeUndefined();
      expect(await storage.contents.listKept([first.id])).toEqual([]);
    });

    it('deletes at most the given number of contents, the oldest first', async () => {
      const { contents } = pair().storage;
      const workspaceId = await addWorkspace();
      const old = [5, 6, 7].map((createdAtMs) => makeContent(workspaceId, { createdAtMs }));
      const young = makeContent(workspaceId, { createdAtMs: 8 });
      await contents.append([young, ...old]);

      expect(await contents.deleteBefore(8, 2)).toBe(2);
      const left = async () =>
        Promise.all([...old, young].map(async ({ id }) => (await contents.find(id))?.createdAtMs));
      expect(await left()).toEqual([undefined, undefined, 7, 8]);
      expect(await contents.deleteBefore(8, 2)).toBe(1);
      expect(await contents.deleteBefore(8, 2)).toBe(0);
      expect(await left()).toEqual([undefined, undefined, undefined, 8]);
    });
  });
}
