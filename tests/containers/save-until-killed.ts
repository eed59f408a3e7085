import { openDiskObjects } from '../../src/platform/objects/disk/disk-objects.ts';
import { openPostgresStorage } from '../../src/platform/storage/postgres/open.ts';
import { openSqliteStorage } from '../../src/platform/storage/sqlite/open.ts';
import { createFakeSandboxes } from '../../src/testing/fake-sandboxes.ts';
import { openContainersOf, runIn } from './open-process.ts';

/*
 * Runs commands in a container until the process is killed: each one writes files of the next round and moves one that is
 * there. Prints the number of a round when its command has returned.
 */
const [url = '', folder = '', first = '0', validMs = '1000'] = process.argv.slice(2);
const storage = await (url.startsWith('postgres') ? openPostgresStorage(url) : openSqliteStorage(url));
const objects = openDiskObjects(folder);
const driver = createFakeSandboxes();
const containers = openContainersOf({ storage, objects, driver, validMs: Number(validMs) });

for (let round = Number(first); ; round++) {
  const names = Array.from({ length: 40 }, (_, index) => `round-${round}/${index}.txt`);
  const moved = `moved/from-${round - 1}.txt`;
  await runIn(containers, 'c', {
    write: { ...Object.fromEntries(names.map((name) => [name, `content of ${name}`])), [moved]: 'moved' },
    remove: [`moved/from-${round - 2}.txt`],
  });
  process.stdout.write(`${round}\n`);
}
