import { describe, expect, it } from 'vitest';
import type { FileFilter, PassageQuery } from '../../../domain/file-search.ts';
import { createTimedId } from '../../../domain/ids.ts';
import type { FileRecord } from '../ports/files.ts';
import type { IndexClaim } from '../ports/passages.ts';
import { change, createWorkspaceDetails, happening, type StoragePair, saveTestWorkspace } from './samples.ts';

const noLimits = { files: 1_000_000, bytes: Number.MAX_SAFE_INTEGER };
const LATER = 4_000_000_000_000;

/** Tests the contract of the texts of files. */
export function testPassages(pair: () => StoragePair): void {
  const addWorkspace = async (): Promise<string> => {
    const workspace = createWorkspaceDetails();
    await saveTestWorkspace(pair(), workspace);
    return workspace.id;
  };
  const addFile = async (workspaceId: string, fields: Partial<FileRecord> = {}): Promise<FileRecord> => {
    const file: FileRecord = {
      id: createTimedId('file_w'),
      workspaceId,
      filename: 'a.txt',
      mimeType: 'text/plain',
      bytes: 7,
      sha256: 'a'.repeat(64),
      downloadable: false,
      purpose: null,
      createdAtMs: 1_790_000_000_000,
      ...fields,
    };
    await pair().storage.files.addFile(file, noLimits, change);
    return file;
  };
  /** Claims files until it gets this one. The tests share one queue. */
  const claim = async (fileId: string): Promise<IndexClaim> => {
    for (;;) {
      const claimed = await pair().storage.passages.claimFile(Date.now(), LATER);
      if (!claimed) throw new Error(`${fileId} does not wait`);
      if (claimed.fileId === fileId) return claimed;
    }
  };
  const write = async (file: FileRecord, ...texts: string[]): Promise<void> => {
    const { passages } = pair().storage;
    const claimed = await claim(file.id);
    await passages.clearPassages(claimed, 1000);
    const added = texts.map((text, position) => ({
      position,
      text,
      words: text.toLowerCase().split(/[^\p{L}\p{N}]+/u),
    }));
    expect(await passages.addPassages(claimed, added, LATER)).toBe(true);
    await passages.finishFile(claimed, 'complete');
  };
  const word = (text: string, isPrefix = false) => ({ text, isPrefix, weight: 1 });
  const find = async (workspaceId: string, words: string[], more: Partial<PassageQuery> = {}): Promise<string[]> => {
    const query = { workspaceId, words: words.map((text) => word(text)), limit: 50, ...more };
    return (await pair().other.passages.findPassages(query)).map(({ text }) => text);
  };

  describe('passages', () => {
    it('are found by their words in the workspace of their file only, also by another process', async () => {
      const [workspaceId, foreign] = [await addWorkspace(), await addWorkspace()];
      const file = await addFile(workspaceId, { filename: 'docs/größe.md', mimeType: 'text/markdown', bytes: 9 });
      await write(file, 'The refund takes 30 days.', 'Größe 東京');
      const elsewhere = await addFile(foreign);
      await write(elsewhere, 'A refund elsewhere.');

      const found = await pair().other.passages.findPassages({ workspaceId, words: [word('refund')], limit: 9 });
      expect(found).toEqual([
        {
          fileId: file.id,
          filename: 'docs/größe.md',
          mimeType: 'text/markdown',
          bytes: 9,
          createdAtMs: 1_790_000_000_000,
          position: 0,
          text: 'The refund takes 30 days.',
        },
      ]);
      expect(await find(workspaceId, ['größe'])).toEqual(['Größe 東京']);
      expect(await find(workspaceId, ['東京', 'refund'])).toHaveLength(2);
      expect(await find(workspaceId, ['elsewhere'])).toEqual([]);
      expect(await find(workspaceId, ['refun'])).toEqual([]);
      expect(await find(workspaceId, [], { words: [word('refun', true)] })).toHaveLength(1);
      expect(await find('unknown', ['refund'])).toEqual([]);
      expect(await find(workspaceId, ['refund', 'größe'], { limit: 1 })).toHaveLength(1);
      const all = await pair().other.passages.countWords(
        workspaceId,
        ['refund', 'größe', 'none'].map((text) => word(text)),
        9,
      );
      expect(all).toEqual({ passages: 2, counts: [1, 1, 0] });
      expect((await pair().other.passages.countWords(workspaceId, [word('', true)], 1)).counts).toHaveLength(1);
    });

    it('contain no syntax: quotes, operators and other signs in words change nothing', async () => {
      const workspaceId = await addWorkspace();
      await write(await addFile(workspaceId), 'alpha beta', 'gamma');
      for (const text of ['"alpha', "al'pha", 'alpha*', 'alpha:', '\\alpha', ' alpha', 'al\0pha']) {
        expect((await find(workspaceId, [text])).length).toBeLessThanOrEqual(1);
      }
      for (const text of ['NOT', 'OR', 'NEAR', 'and', '&', '|', '!', '(', '<->', 'words']) {
        expect(await find(workspaceId, [text, 'gamma'])).toEqual(['gamma']);
      }
    });

    it('rank the passage first that has more of the words', async () => {
      const workspaceId = await addWorkspace();
      const rest = Array.from({ length: 30 }, (_, index) => `the tea number ${index}`);
      await write(await addFile(workspaceId), ...rest, 'the coffee price', ...rest);
      const words = [
        { ...word('the'), weight: 0.1 },
        { ...word('coffee'), weight: 4 },
        { ...word('price'), weight: 4 },
      ];
      expect((await find(workspaceId, [], { words }))[0]).toBe('the coffee price');
    });

    it('are found among many, the best first, with and without a condition', async () => {
      const workspaceId = await addWorkspace();
      const many = await addFile(workspaceId, { filename: 'many.txt' });
      const { passages } = pair().storage;
      const claimed = await claim(many.id);
      for (let at = 0; at < 5200; at += 400) {
        const batch = Array.from({ length: 400 }, (_, index) => {
          const text = at + index === 5000 ? 'common rare' : 'common';
          return { position: at + index, text, words: text.split(' ') };
        });
        await passages.addPassages(claimed, batch, LATER);
      }
      await passages.finishFile(claimed, 'complete');
      const words = [word('common'), { ...word('rare'), weight: 9 }];
      const filter: FileFilter = { type: 'eq', key: 'filename', value: 'many.txt' };
      for (const more of [{}, { filter }]) {
        const found = await find(workspaceId, [], { words, limit: 3, ...more });
        expect(found).toEqual(['common rare', 'common', 'common']);
      }
      expect((await passages.countWords(workspaceId, words, 100)).counts).toEqual([100, 1]);
    });

    it('are limited to files, folders and conditions', async () => {
      const workspaceId = await addWorkspace();
      const at = (seconds: number) => ({ createdAtMs: seconds * 1000 + 1 });
      const add = async (text: string, fields: Partial<FileRecord>) => {
        const file = await addFile(workspaceId, fields);
        await write(file, text);
        return file;
      };
      const one = await add('one word', { filename: 'a/one.md', mimeType: 'text/markdown', bytes: 1, ...at(10) });
      const csv = { filename: 'a/b/two.csv', mimeType: 'text/csv', bytes: 20, purpose: 'x' };
      const two = await add('two word', { ...csv, ...at(20) });
      await add('three word', { filename: 'a%/three.txt', bytes: 300, ...at(30) });
      const select = async (more: Partial<PassageQuery>) => (await find(workspaceId, ['word'], more)).sort();
      expect(await select({ fileIds: [one.id, 'file_wNone'] })).toEqual(['one word']);
      expect(await select({ folders: ['a/'] })).toEqual(['one word', 'two word']);
      expect(await select({ folders: ['a%/'], fileIds: [one.id] })).toEqual(['one word', 'three word']);
      expect(await select({ folders: ['a/b/', 'none/'] })).toEqual(['two word']);
      const where = (filter: FileFilter) => select({ filter });
      expect(await where({ type: 'eq', key: 'mime_type', value: 'text/csv' })).toEqual(['two word']);
      expect(await where({ type: 'ne', key: 'purpose', value: 'x' })).toEqual(['one word', 'three word']);
      expect(await where({ type: 'gte', key: 'bytes', value: 20 })).toEqual(['three word', 'two word']);
      expect(await where({ type: 'gt', key: 'bytes', value: 19.5 })).toEqual(['three word', 'two word']);
      expect(await where({ type: 'lt', key: 'created_at', value: 20 })).toEqual(['one word']);
      expect(await where({ type: 'eq', key: 'created_at', value: 20 })).toEqual(['two word']);
      expect(await where({ type: 'eq', key: 'file_id', value: [one.id, two.id] })).toEqual(['one word', 'two word']);
      expect(await where({ type: 'ne', key: 'filename', value: ['a/one.md'] })).toEqual(['three word', 'two word']);
      expect(await where({ type: 'eq', key: 'filename', value: [] })).toEqual([]);
      expect(await where({ type: 'and', filters: [] })).toHaveLength(3);
      const either: FileFilter = {
        type: 'or',
        filters: [
          { type: 'eq', key: 'bytes', value: [1, 2] },
          {
            type: 'and',
            filters: [
              { type: 'lte', key: 'filename', value: 'a/b/z' },
              { type: 'gt', key: 'bytes', value: 1 },
            ],
          },
        ],
      };
      expect(await where(either)).toEqual(['one word', 'three word', 'two word']);
    });

    it('of a deleted file are not found any more, and the file is in the queue again', async () => {
      const { storage } = pair();
      const workspaceId = await addWorkspace();
      const file = await addFile(workspaceId);
      await write(file, 'secret');
      expect(await storage.passages.readIndexState(workspaceId)).toEqual({
        waiting: 0,
        fresh: 0,
        states: { complete: 1 },
      });
      await storage.files.deleteFile(workspaceId, file.id, change);
      expect(await find(workspaceId, ['secret'])).toEqual([]);
      expect((await storage.passages.readIndexState(workspaceId)).waiting).toBe(0);
      const claimed = await claim(file.id);
      expect(await storage.passages.clearPassages(claimed, 1000)).toBe(1);
      expect(await storage.passages.clearPassages(claimed, 1000)).toBe(0);
      await storage.passages.finishFile(claimed, null);
      expect(await storage.passages.readIndexState(workspaceId)).toEqual({ waiting: 0, fresh: 0, states: {} });
      expect(await storage.passages.countWords(workspaceId, [word('secret')], 9)).toEqual({ passages: 0, counts: [0] });
    });

    it('of a deleted workspace are in the queue', async () => {
      const { storage } = pair();
      const workspaceId = await addWorkspace();
      const file = await addFile(workspaceId);
      await write(file, 'secret');
      await storage.management.change(change, async (transaction) => {
        await transaction.deleteWorkspace(workspaceId);
        await transaction.record(happening());
      });
      expect(await find(workspaceId, ['secret'])).toEqual([]);
      expect((await claim(file.id)).workspaceId).toBe(workspaceId);
    });

    it('are written by one process only: a claim ends when its time is over or the file changes', async () => {
      const { storage, other } = pair();
      const workspaceId = await addWorkspace();
      const file = await addFile(workspaceId);
      expect(await storage.passages.readIndexState(workspaceId)).toMatchObject({ waiting: 1, fresh: 1 });
      const first = await claim(file.id);
      expect(await other.passages.claimFile(Date.now(), LATER)).toBeUndefined();
      await storage.passages.releaseFile(first, 5);
      const second = await claim(file.id);
      expect(second.tries).toBe(first.tries + 1);
      expect(await other.passages.readIndexState(workspaceId)).toMatchObject({ waiting: 1, fresh: 0 });

      const passage = { position: 0, text: 'x', words: ['x'] };
      expect(await storage.passages.addPassages(first, [passage], LATER)).toBe(false);
      await storage.passages.finishFile(first, 'complete');
      await storage.passages.releaseFile(first, 5);
      expect((await other.passages.readIndexState(workspaceId)).waiting).toBe(1);
      expect(await find(workspaceId, ['x'])).toEqual([]);

      await storage.files.deleteFile(workspaceId, file.id, change); // while it is being read
      expect(await storage.passages.addPassages(second, [passage], LATER)).toBe(false);
      expect(await storage.passages.clearPassages(second, 9)).toBe(0);
      const third = await claim(file.id);
      await storage.passages.finishFile(third, null);
    });

    it('gives a file of another workspace first, if there is one', async () => {
      const { storage } = pair();
      const slow = await addWorkspace();
      for (let count = 0; count < 3; count++) await addFile(slow);
      const other = await addFile(await addWorkspace());
      const claimed: string[] = [];
      for (let found = true; found; ) {
        const got = await storage.passages.claimFile(Date.now(), LATER, slow);
        if (got) claimed.push(got.fileId);
        found = got !== undefined;
      }
      expect(claimed.indexOf(other.id)).toBe(claimed.length - 4); // the tests share one queue
    });

    it('gives each file to one of several processes that claim at once', async () => {
      const { storage, other } = pair();
      const workspaceId = await addWorkspace();
      const ids = [(await addFile(workspaceId)).id, (await addFile(workspaceId)).id, (await addFile(workspaceId)).id];
      const claimed: string[] = [];
      for (let round = 0; round < 20 && claimed.length < ids.length; round++) {
        const got = await Promise.all(
          [storage, other, storage, other].map((each) => each.passages.claimFile(Date.now(), LATER)),
        );
        claimed.push(...got.flatMap((each) => (each?.workspaceId === workspaceId ? [each.fileId] : [])));
      }
      expect(claimed.toSorted()).toEqual(ids.toSorted());
    });
  });
}
