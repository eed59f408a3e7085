import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createBus } from '../../src/platform/bus/bus.ts';
import { openPostgresDriver } from '../../src/platform/bus/postgres/postgres-driver.ts';
import { openDiskObjects } from '../../src/platform/objects/disk/disk-objects.ts';
import type { Objects } from '../../src/platform/objects/objects.ts';
import { openS3Objects } from '../../src/platform/objects/s3/s3-objects.ts';
import { openPostgresStorage } from '../../src/platform/storage/postgres/open.ts';
import { createFakeSandboxes } from '../../src/testing/fake-sandboxes.ts';
import { startPostgres } from '../../src/testing/postgres.ts';
import { startS3Server } from '../objects/s3-server.ts';
import { getStored, openContainersOf, runIn, workspaceId } from './open-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-containers-hosts-'));
const postgres = await startPostgres();
const closers: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closers.reverse()) await close();
  if ('stop' in postgres) await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
});

const bucket = await startS3Server();
closers.push(async () => await bucket[Symbol.asyncDispose]());
const places: [string, () => Objects][] = [
  ['folder', () => openDiskObjects(folder)],
  ['bucket', () => openS3Objects({ ...bucket, endpoint: bucket.url, prefix: 'gate/', pathStyle: true })],
];

describe.each(places)('containers of two hosts on one PostgreSQL and one %s', (_, openObjects) => {
  if ('skipped' in postgres) {
    it.skip(postgres.skipped, () => {});
    return;
  }
  const url = postgres.createDatabase();

  async function openHost() {
    const storage = await openPostgresStorage(await url);
    await storage.migrate();
    await storage.access.putWorkspace({ id: workspaceId, name: 'main', createdAtMs: 1 });
    const ignore = (): void => {};
    const bus = createBus(await openPostgresDriver(await url, { onTrouble: ignore, onRecovery: ignore }));
    const driver = createFakeSandboxes();
    const containers = openContainersOf({ storage, objects: openObjects(), driver, bus });
    closers.push(
      () => storage.close(),
      () => bus.close(),
      () => containers.close(),
    );
    return { storage, driver, containers };
  }

  it('run a container in one place at a time, and pass it on with its files', async () => {
    const [one, two] = [await openHost(), await openHost()];
    for (let round = 0; round < 6; round++) {
      const [host, idle] = round % 2 === 0 ? [one, two] : [two, one];
      const before = `${round - 1}.txt`;
      const { stdout } = await runIn(host.containers, 'c', {
        print: before,
        write: { [`${round}.txt`]: `round ${round}` },
      });
      expect(stdout).toBe(round === 0 ? '' : `round ${round - 1}`);
      expect(host.driver.running.size).toBe(1);
      expect(idle.driver.running.size).toBe(0);
    }
  });

  it('serialize commands that come to both at once, and lose none of their files', async () => {
    const [one, two] = [await openHost(), await openHost()];
    const names = Array.from({ length: 12 }, (_, index) => `${index}.txt`);
    await Promise.all(
      names.map((name, index) =>
        runIn((index % 2 === 0 ? one : two).containers, 'busy', { write: { [name]: name, shared: name } }),
      ),
    );
    expect(one.driver.running.size + two.driver.running.size).toBe(1);
    const { key } = await getStored(one.storage, 'busy');
    const page = await two.storage.containers.listFiles({ containerKey: key, limit: 100, maxScanned: 1000 });
    expect(page.files.map(({ path }) => path)).toEqual([...names, 'shared'].toSorted());
  });

  it('wait for a running command of the other host', async () => {
    const [one, two] = [await openHost(), await openHost()];
    const running = runIn(one.containers, 'slow', { waitFor: 'go', write: { a: 'first' } });
    await one.driver.reached('go');
    const next = runIn(two.containers, 'slow', { print: 'a' });
    one.driver.pass('go');
    await running;
    expect((await next).stdout).toBe('first');
  });
});
