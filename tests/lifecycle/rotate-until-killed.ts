import { writeSync } from 'node:fs';
import { openSqliteStorage } from '../../src/platform/storage/sqlite/open.ts';
import { createMasterKeys } from '../../src/vault/master-keys.ts';
import { rewrapVaultKeys, rotateAllVaults } from '../../src/vault/rotate.ts';

/**
 * A process that `rotate-vaults.test.ts` kills. It rotates all keys of the database of its first argument, again and again, with
 * the master keys of the others in turn. It writes a line after each rotation.
 */
const [, , path, ...texts] = process.argv;
const { vaults } = await openSqliteStorage(path!);
const [one, two] = texts.map((text) => Buffer.from(text)) as [Buffer, Buffer];
for (let turn = 0; ; turn++) {
  const [current, previous] = turn % 2 === 0 ? [two, one] : [one, two];
  const parts = { vaults, masterKeys: createMasterKeys(current, previous) };
  await rewrapVaultKeys(parts);
  await rotateAllVaults(parts);
  writeSync(1, '.');
}
