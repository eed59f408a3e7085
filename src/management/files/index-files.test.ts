import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Cancellation } from '../../domain/cancellation.ts';
import { GatewayError } from '../../domain/errors.ts';
import { createTimedId } from '../../domain/ids.ts';
import { openSqliteStorage } from '../../platform/storage/sqlite/open.ts';
import type { Storage } from '../../platform/storage/storage.ts';
import { type IndexParts, indexFiles } from './index-files.ts';

const change = { atMs: 1, actorKeyHash: null };
const noLimits = { files: 1_000_000, bytes: Number.MAX_SAFE_INTEGER };
const workspaceId = 'ws';

let storage: Storage;
let now: number;
let texts: Map<string, string | undefined | Error>;
beforeEach(async () => {
  storage = await openSqliteStorage(':memory:');
  await storage.migrate();
  await storage.access.putWorkspace({ id: workspaceId, name: 'w', createdAtMs: 1 });
  now = 1_000_000;
  texts = new Map();
});
afterEach(() => storage.close());

async function add(filename: string, text: string | undefined | Error, owner = workspaceId): Promise<string> {
  const file = { id: createTimedId('file_w'), workspaceId: owner, filename, mimeType: 'text/plain', bytes: 1 };
  texts.set(filename, text);
  const rest = { sha256: '', downloadable: false, purpose: null, createdAtMs: 1 };
  await storage.files.addFile({ ...file, ...rest }, noLimits, change);
  return file.id;
}

const parts = (more: Partial<IndexParts> = {}): IndexParts => ({
  files: storage.files,
  passages: storage.passages,
  now: () => now,
  limits: () => ({ fileCharacters: 10_000, workspacePassages: 1000 }),
  async readText({ filename }) {
    const text = texts.get(filename);
    if (text instanceof Error) throw text;
    return text;
  },
  ...more,
});
const index = (more: Partial<IndexParts> = {}, stop = new Cancellation()) => indexFiles(parts(more), stop);
const find = async (word: string) => {
  const words = [{ text: word, isPrefix: false, weight: 1 }];
  return (await storage.passages.findPassages({ workspaceId, words, limit: 500 })).map(({ text }) => text);
};
const state = () => storage.passages.readIndexState(workspaceId);

describe('indexFiles', () => {
  it('makes files searchable, by their texts and their names, and skips files without text', async () => {
    await add('reports/Annual.txt', 'Profit grew.');
    await add('image.png', undefined);
    expect(await index()).toBe(2);
    expect(await find('profit')).toEqual(['Profit grew.']);
    expect(await find('annual')).toEqual(['Profit grew.']);
    expect(await state()).toEqual({ waiting: 0, fresh: 0, states: { complete: 1, unreadable: 1 } });
    expect(await index()).toBe(0);
  });

  it('removes the texts of deleted files', async () => {
    const id = await add('a.txt', 'Profit. '.repeat(1000));
    await index();
    expect((await storage.passages.countWords(workspaceId, [], 0)).passages).toBeGreaterThan(5);
    await storage.files.deleteFile(workspaceId, id, change);
    expect(await index()).toBe(1);
    expect(await storage.passages.countWords(workspaceId, [{ text: 'profit', isPrefix: false }], 9)).toEqual({
      passages: 0,
      counts: [0],
    });
  });

  it('cuts long files, and all files of a full workspace', async () => {
    await add('a.txt', `${'first '.repeat(1700)} last`);
    await index();
    expect(await find('last')).toEqual([]);
    await add('b.txt', 'second '.repeat(1700));
    const { passages } = await storage.passages.countWords(workspaceId, [], 0);
    await index({ limits: () => ({ fileCharacters: 10_000, workspacePassages: passages + 2 }) });
    expect(await find('second')).toHaveLength(2);
    expect((await state()).states).toEqual({ cut: 2 });
  });

  it('lets workspaces take turns if the files of one are slow', async () => {
    await storage.access.putWorkspace({ id: 'other', name: 'o', createdAtMs: 1 });
    for (const name of ['a.txt', 'b.txt', 'c.txt']) await add(name, 'slow');
    await add('other.txt', 'fast', 'other');
    const read: string[] = [];
    const readText: IndexParts['readText'] = async ({ filename }) => {
      read.push(filename);
      if (filename !== 'other.txt') now += 2000;
      return 'text';
    };
    await index({ readText });
    expect(read.indexOf('other.txt')).toBe(1);
    expect(read).toHaveLength(4);
  });

  it('tries an unavailable file again later, and gives it up in the end', async () => {
    await add('a.txt', new GatewayError('unavailable', 'no disk'));
    await index();
    expect((await state()).waiting).toBe(1);
    expect(await index()).toBe(0); // not yet
    texts.set('a.txt', 'Back.');
    now += 600_000;
    await index();
    expect(await find('back')).toEqual(['Back.']);

    await add('b.txt', new Error('never'));
    for (let round = 0; round < 10; round++, now += 600_000) await index();
    expect(await state()).toEqual({ waiting: 0, fresh: 0, states: { complete: 1, failed: 1 } });
  });

  it('starts a file over that an ended process has begun', async () => {
    await add('a.txt', 'word '.repeat(2000));
    const claim = await storage.passages.claimFile(now, now + 60_000); // by a process that is killed
    await storage.passages.addPassages(claim!, [{ position: 0, text: 'half', words: ['half'] }], now + 60_000);
    expect(await index()).toBe(0);
    now += 60_001;
    expect(await index()).toBe(1);
    expect(await find('half')).toEqual([]);
    expect((await find('word')).length).toBeGreaterThan(5);
  });

  it('stops in the middle of a file, which another process can take at once', async () => {
    await add('a.txt', 'word '.repeat(2000));
    const stop = new Cancellation();
    const readText: IndexParts['readText'] = async ({ filename }) => {
      stop.cancel(new GatewayError('unavailable', 'stop'));
      return texts.get(filename) as string;
    };
    await index({ readText }, stop);
    expect((await state()).waiting).toBe(1);
    expect(await index()).toBe(1);
    expect((await state()).states).toEqual({ complete: 1 });
  });

  it('gives up a file that is deleted meanwhile', async () => {
    const id = await add('a.txt', 'word '.repeat(20_000));
    const readText: IndexParts['readText'] = async ({ filename }) => {
      await storage.files.deleteFile(workspaceId, id, change);
      return texts.get(filename) as string;
    };
    await index({ readText });
    expect(await find('word')).toEqual([]);
    expect(await storage.passages.countWords(workspaceId, [], 0)).toEqual({ passages: 0, counts: [] });
    expect(await state()).toEqual({ waiting: 0, fresh: 0, states: {} });
  });
});
