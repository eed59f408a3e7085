import type { Config } from '../../config/schema.ts';
import { openPostgresStorage } from '../../platform/storage/postgres/open.ts';
import { openSqliteStorage } from '../../platform/storage/sqlite/open.ts';
import { describeStore, findMissingFile, findStoreFile } from '../describe-store.ts';
import { readMessage } from '../terminal.ts';
import type { Finding } from './finding.ts';

/** Checks whether the store responds and has the tables of this build. Does not create a missing SQLite file. */
export async function checkStorage(config: Pick<Config, 'storage'>): Promise<Finding> {
  const subject = 'storage';
  const file = findStoreFile(config);
  const place = describeStore(config);
  try {
    if (findMissingFile(config) !== undefined)
      return { status: 'ok', subject, says: `SQLite ${place}, created at the first start` };
    const store = await (file === undefined
      ? openPostgresStorage(config.storage.url, { poolSize: 1 })
      : openSqliteStorage(file));
    try {
      const { isEmpty, isOlder, problem } = await store.compareSchema();
      const what = `${file === undefined ? 'PostgreSQL' : 'SQLite'} ${place}`;
      if (problem) return { status: 'fail', subject, says: `${what} ${problem.says}`, fix: problem.remedy };
      if (isEmpty)
        return { status: 'ok', subject, says: `${what} responds; its tables are created at the first start` };
      if (isOlder) {
        const fix = 'The next start updates it. Older versions cannot use it afterwards. Make a backup first.';
        return { status: 'warn', subject, says: `${what} has the schema of an older Headgate`, fix };
      }
      if ((await store.ping()) === 'read-only') {
        const fix = 'Set storage.url to the primary database: a standby accepts no ledger entries.';
        return { status: 'fail', subject, says: `${what} is read-only`, fix };
      }
      const keys = await store.access.listKeys();
      return { status: 'ok', subject, says: `${what}; ${keys.length === 1 ? '1 key' : `${keys.length} keys`}` };
    } finally {
      await store.close();
    }
  } catch (error) {
    return { status: 'fail', subject, says: readMessage(error) };
  }
}
