import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { openEntryContent } from '../../src/management/containers/entry-content.ts';
import { sweepContainers } from '../../src/management/containers/sweep-containers.ts';
import { openDiskObjects } from '../../src/platform/objects/disk/disk-objects.ts';
import { openPostgresStorage } from '../../src/platform/storage/postgres/open.ts';
import { openSqliteStorage } from '../../src/platform/storage/sqlite/open.ts';
import type { Storage } from '../../src/platform/storage/storage.ts';
import { createFakeSandboxes } from '../../src/testing/fake-sandboxes.ts';
import { startPostgres } from '../../src/testing/postgres.ts';
import { getStored, openContainersOf, runIn, workspaceId } from './open-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-containers-kill-'));
const program = fileURLToPath(new URL('save-until-killed.ts', import.meta.url));
const postgres = await startPostgres();
afterAll(async () => {
  if ('stop' in postgres) await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs commands in another process, and kills it some milliseconds after a number of them. @returns the last round */
async function runUntilKilled(url: string, objects: string, first: number, rounds: number, killAfterMs: number) {
  const child = spawn(process.execPath, [program, url, objects, String(first), '500'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let last = first - 1;
  for await (const line of createInterface({ input: child.stdout })) {
    last = Number(line);
    if (last === first + rounds - 1) setTimeout(() => child.kill('SIGKILL'), killAfterMs); // in the middle of a later round
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  expect(child.signalCode).toBe('SIGKILL');
  return last;
}

/** Reads all files of the container, by path. */
async function readAll(storage: Storage, folder: string): Promise<Map<string, string>> {
  const { containers: store } = storage;
  const objects = openDiskObjects(folder);
  const { key } = await getStored(storage, 'c');
  const found = new Map<string, string>();
  for (let after: string | undefined; ; ) {
    const page = await store.listFiles({ containerKey: key, after, limit: 1000, maxScanned: 10_000 });
    for (const { path } of page.files) {
      const entry = (await store.findEntry(key, path))!;
      const opened = await openEntryContent({ store, objects }, key, entry);
      found.set(path, Buffer.concat(await opened!.content.toArray()).toString());
    }
    if (page.next === undefined) return found;
    after = page.next;
  }
}

function testKills(open: () => Promise<{ url: string; storage: Storage }>): void {
  it('never loses what a command that returned has saved, and continues at once', async () => {
    const { url, storage } = await open();
    await storage.migrate();
    await storage.access.putWorkspace({ id: workspaceId, name: 'main', createdAtMs: 1 });
    const place = mkdtempSync(join(folder, 'objects-'));
    let rounds = 0;
    for (const killAfterMs of [0, 3, 9, 15]) {
      const last = await runUntilKilled(url, place, rounds, 3, killAfterMs);
      const found = await readAll(storage, place);
      for (let round = 0; round <= last; round++) {
        for (let index = 0; index < 40; index++) {
          const name = `round-${round}/${index}.txt`;
          expect(found.get(name), `${name} after ${last} rounds`).toBe(`content of ${name}`);
        }
      }
      expect([found.get(`moved/from-${last - 1}.txt`), found.get(`moved/from-${last}.txt`)]).toContain('moved');
      rounds = last + 1;
    }

    const containers = openContainersOf({ storage, objects: openDiskObjects(place), driver: createFakeSandboxes() });
    const printed = await runIn(containers, 'c', { print: 'round-0/0.txt', write: { end: 'the end' } });
    expect(printed.stdout).toBe('content of round-0/0.txt');
    await containers.close();
    const before = await readAll(storage, place);
    const parts = { store: storage.containers, objects: openDiskObjects(place), retentionMs: () => 1e9 };
    await sweepContainers({ ...parts, now: () => Date.now() + 7_200_000 });
    expect(await readAll(storage, place)).toEqual(before); // what the killed processes left is gone, and nothing else
    await storage.close();
  });
}

describe('containers of a killed process, with SQLite', () => {
  testKills(async () => {
    const url = join(folder, 'headgate.db');
    return { url, storage: await openSqliteStorage(url) };
  });
});

describe('containers of a killed process, with PostgreSQL', () => {
  if ('skipped' in postgres) it.skip(postgres.skipped, () => {});
  else {
    testKills(async () => {
      const url = await postgres.createDatabase();
      return { url, storage: await openPostgresStorage(url) };
    });
  }
});
