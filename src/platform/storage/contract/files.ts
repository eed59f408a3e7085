import { describe, expect, it } from 'vitest';
import { createTimedId } from '../../../domain/ids.ts';
import type { FileListQuery, FileRecord } from '../ports/files.ts';
import { allRows, change, createWorkspaceDetails, happening, saveTestWorkspace, type StoragePair } from './samples.ts';

const noLimits = { files: 1_000_000, bytes: Number.MAX_SAFE_INTEGER };

/** Tests the contract of files. */
export function testFiles(pair: () => StoragePair): void {
  const addWorkspace = async (): Promise<string> => {
    const workspace = createWorkspaceDetails();
    await saveTestWorkspace(pair(), workspace);
    return workspace.id;
  };
  const createFileRecord = (workspaceId: string, fields: Partial<FileRecord> = {}): FileRecord => ({
    id: createTimedId('file_w'),
    workspaceId,
    filename: 'reports/Zürich 📦.csv',
    mimeType: 'text/csv',
    bytes: 7,
    sha256: 'a'.repeat(64),
    downloadable: false,
    purpose: 'user_data',
    createdAtMs: 1_790_000_000_000,
    ...fields,
  });

  describe('files', () => {
    it('are found and deleted by another process of the same workspace only, with audit entries', async () => {
      const { storage, other } = pair();
      const [workspaceId, foreign] = [await addWorkspace(), await addWorkspace()];
      const file = createFileRecord(workspaceId);
      const revision = await other.access.readRevision();
      expect(await storage.files.addFile(file, noLimits, change)).toBeUndefined();

      expect(await other.files.findFile(workspaceId, file.id)).toEqual(file);
      expect(await other.files.findFile(foreign, file.id)).toBeUndefined();
      expect(await other.files.findFile(workspaceId, 'file_\0')).toBeUndefined();
      expect(await other.files.findFileByName(workspaceId, file.filename)).toEqual(file);
      expect(await other.files.findFileByName(foreign, file.filename)).toBeUndefined();
      expect(await other.files.listExistingFiles([file.id, 'file_wNone'])).toEqual([file.id]);
      expect(await other.files.listExistingFiles([])).toEqual([]);

      expect(await other.files.deleteFile(foreign, file.id, change)).toBeUndefined();
      expect(await other.files.deleteFile(workspaceId, file.id, change)).toEqual(file);
      expect(await storage.files.deleteFile(workspaceId, file.id, change)).toBeUndefined();
      expect(await storage.files.findFile(workspaceId, file.id)).toBeUndefined();

      const { rows } = await storage.management.listAudit(allRows);
      const told = rows.filter(({ objectId }) => objectId === file.id);
      expect(told.map(({ action }) => action)).toEqual(['file.delete', 'file.create']);
      expect(told[1]).toMatchObject({
        ...change,
        objectKind: 'file',
        workspaceId,
        changes: {
          filename: { before: null, after: file.filename },
          mime_type: { before: null, after: 'text/csv' },
          size_bytes: { before: null, after: 7 },
        },
      });
      expect(await other.access.readRevision()).toBe(revision);
    });

    it('are listed oldest first, in pages, and by a part of their name', async () => {
      const { storage, other } = pair();
      const workspaceId = await addWorkspace();
      const names = ['One.txt', 'two_%.csv', 'ONE more\\.md', 'twox%.csv'];
      const ids = names.map(() => createTimedId('file_w')).toSorted();
      const added = names.map((filename, index) => createFileRecord(workspaceId, { filename, id: ids[index]! }));
      for (const file of added.toReversed()) await storage.files.addFile(file, noLimits, change);
      const list = async (query: Partial<FileListQuery> = {}) =>
        (await other.files.listFiles({ workspaceId, limit: 9, ...query })).map(({ filename }) => filename);

      expect(await list()).toEqual(names);
      expect(await list({ limit: 2 })).toEqual(names.slice(0, 2));
      expect(await list({ after: added[1]!.id })).toEqual(names.slice(2));
      expect(await list({ after: added[3]!.id })).toEqual([]);
      expect(await list({ filter: 'one' })).toEqual(['One.txt', 'ONE more\\.md']);
      expect(await list({ filter: '_%' })).toEqual(['two_%.csv']);
      expect(await list({ filter: '\\' })).toEqual(['ONE more\\.md']);
      expect(await list({ filter: '\0' })).toEqual([]);
      expect(await list({ folder: 'two' })).toEqual(['two_%.csv', 'twox%.csv']);
      expect(await list({ folder: 'two_%', limit: 1 })).toEqual(['two_%.csv']);
      expect(await list({ folder: 'wo' })).toEqual([]);
      expect(await list({ order: 'desc', limit: 3 })).toEqual(names.toReversed().slice(0, 3));
      expect(await list({ order: 'desc', after: added[1]!.id })).toEqual(names.slice(0, 1));
      await storage.files.addFile(createFileRecord(workspaceId, { filename: 'none', purpose: null }), noLimits, change);
      await storage.files.addFile(
        createFileRecord(workspaceId, { filename: 'v', purpose: 'vision' }),
        noLimits,
        change,
      );
      expect(await list({ purpose: 'vision' })).toEqual(['v']);
      expect(await list({ purpose: 'user_data', order: 'desc', limit: 1 })).toEqual(['none']);
    });

    it('finds the newest of several files of a name', async () => {
      const { files } = pair().storage;
      const workspaceId = await addWorkspace();
      const [older, newer] = [createTimedId('file_w'), createTimedId('file_w')].toSorted();
      await files.addFile(createFileRecord(workspaceId, { id: newer! }), noLimits, change);
      await files.addFile(createFileRecord(workspaceId, { id: older! }), noLimits, change);
      expect((await files.findFileByName(workspaceId, 'reports/Zürich 📦.csv'))?.id).toBe(newer);
    });

    it('never exceeds the limits of a workspace, also if two processes add files at once', async () => {
      const { storage, other } = pair();
      const workspaceId = await addWorkspace();
      const add = (by: typeof storage, limits: typeof noLimits) =>
        by.files.addFile(createFileRecord(workspaceId), limits, change);
      const limits = { ...noLimits, bytes: 3 * 7 };
      const results = await Promise.all(
        Array.from({ length: 8 }, (_, index) => add(index % 2 === 0 ? storage : other, limits)),
      );
      expect(results.filter((result) => result === undefined)).toHaveLength(3);
      expect(results.filter((result) => result === 'bytes')).toHaveLength(5);
      expect(await other.files.readFileUsage(workspaceId)).toEqual({ files: 3, bytes: 21 });
      expect(await add(storage, { ...noLimits, files: 3 })).toBe('files');
      expect(await add(storage, { ...noLimits, files: 4 })).toBeUndefined();
      expect(await other.files.readFileUsage('unknown')).toEqual({ files: 0, bytes: 0 });
    });

    it('are deleted with their workspace, and not added to one that does not exist', async () => {
      const { storage } = pair();
      const workspaceId = await addWorkspace();
      const file = createFileRecord(workspaceId);
      await storage.files.addFile(file, noLimits, change);
      await storage.management.change(change, async (transaction) => {
        await transaction.deleteWorkspace(workspaceId);
        await transaction.record(happening());
      });
      expect(await storage.files.listExistingFiles([file.id])).toEqual([]);
      expect(await storage.files.addFile(file, noLimits, change)).toBe('workspace');
    });
  });
}
