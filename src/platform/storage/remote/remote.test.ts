import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openChannelPair } from '../../../testing/channel-pair.ts';
import { createHub } from '../../cluster/hub.ts';
import { openPeer } from '../../cluster/peer.ts';
import { createKeyRecord } from '../contract/samples.ts';
import { testStorage } from '../contract.ts';
import { createTestEntry } from '../contract/samples.ts';
import { openSqliteStorage } from '../sqlite/open.ts';
import type { Storage } from '../storage.ts';
import { openRemoteStorage, storageService } from './open.ts';
import { serveStorage } from './serve.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-remote-'));
const closers: (() => void)[] = [];
afterAll(() => {
  for (const close of closers) close();
  rmSync(folder, { recursive: true, force: true });
});

/** A primary with workers, all in this process. */
function openPrimary(storage: Storage, longestChangeMs?: number) {
  const hub = createHub();
  hub.provide(storageService, (worker) => serveStorage(storage, worker, longestChangeMs));
  let workers = 0;
  return {
    openWorker() {
      const { ends, close } = openChannelPair();
      closers.push(close);
      hub.attach(workers++, ends[0]);
      return { storage: openRemoteStorage(openPeer(ends[1])), die: close };
    },
  };
}

const primary = openSqliteStorage(join(folder, 'contract.db')).then(async (store) => ({
  store,
  ...openPrimary(store),
}));
afterAll(async () => (await primary).store.close());

testStorage('remote', async () => {
  return (await primary).openWorker().storage;
});

describe('storage: remote alone', () => {
  const change = { atMs: 1, actorKeyHash: null };
  const happening = { action: 'a', objectKind: 'test', objectId: '1', workspaceId: null, changes: {} };
  let store: Storage;
  beforeEach(async () => {
    store = await openSqliteStorage(':memory:');
    await store.migrate();
  });
  afterEach(() => store.close());

  it('undoes the change of a worker that dies in it, and lets the others go on', async () => {
    const { openWorker } = openPrimary(store);
    const [one, two] = [openWorker(), openWorker()];
    const key = createKeyRecord();
    const dying = one.storage.management.change(change, async (transaction) => {
      await transaction.putKey(key);
      await transaction.record(happening);
      one.die();
      await transaction.findKey(key.hash);
    });

    await expect(dying).rejects.toThrow('ended before it responded');
    await two.storage.management.change(change, async (transaction) => {
      expect(await transaction.findKey(key.hash)).toBeUndefined();
      await transaction.record(happening);
    });
    expect((await store.management.listAudit({ offset: 0, limit: 9 })).total).toBe(1);
    two.die();
  });

  it('undoes a change that takes too long, and tells its worker', async () => {
    const { openWorker } = openPrimary(store, 20);
    const [slow, other] = [openWorker(), openWorker()];
    const key = createKeyRecord();
    const late = slow.storage.management.change(change, async (transaction) => {
      await transaction.putKey(key);
      await transaction.record(happening);
      expect(await other.storage.management.findKey(key.hash)).toBeUndefined(); // waits for the end of this change
    });
    await expect(late).rejects.toThrow('The change took longer than 0.02 s and was rolled back; try again.');
    expect(await store.access.listKeys()).toEqual([]);
    for (const { die } of [slow, other]) die();
  });

  it('tells the errors of the store with their codes', async () => {
    const { openWorker } = openPrimary(store);
    const { storage, die } = openWorker();
    const tooMuch = storage.ledger.append([createTestEntry({ costNanoUsd: 2n ** 63n })]);
    const there = await store.ledger.append([createTestEntry({ costNanoUsd: 2n ** 63n })]).catch((error) => error);
    await expect(tooMuch).rejects.toMatchObject({ message: there.message, code: there.code });
    die();
  });
});
