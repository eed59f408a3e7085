import { existsSync } from 'node:fs';
import type { Config } from '../../config/schema.ts';
import { openPostgresStorage } from '../../platform/storage/postgres/open.ts';
import { openSqliteStorage } from '../../platform/storage/sqlite/open.ts';
import { findStoreFile, nameStore } from '../store-place.ts';
import { readMessage } from '../terminal.ts';
import type { Finding } from './finding.ts';

/** Does the store answer, and with the tables of this build? A SQLite file that is not there is not made. */
export async function checkStorage(config: Pick<Config, 'storage'>): Promise<Finding> {
  const subject = 'storage';
  const file = findStoreFile(config);
  const place = nameStore(config);
  if (file !== undefined && file !== ':memory:' && !existsSync(file)) {
    return { status: 'ok', subject, says: `SQLite ${place}, made at the first start` };
  }
  try {
    const store = await (file === undefined
      ? openPostgresStorage(config.storage.url, { poolSize: 1 })
      : openSqliteStorage(file));
    try {
      await store.ping();
      return await checkSchema(async () => {
        const [keys] = await Promise.all([
          store.access.listKeys(),
          store.access.readRevision(),
          store.ledger.readTotals(),
        ]);
        const kind = file === undefined ? 'PostgreSQL' : 'SQLite';
        return `${kind} ${place}; ${keys.length === 1 ? '1 key' : `${keys.length} keys`}`;
      }, place);
    } finally {
      await store.close();
    }
  } catch (error) {
    return { status: 'fail', subject, says: readMessage(error) };
  }
}

async function checkSchema(read: () => Promise<string>, place: string): Promise<Finding> {
  const subject = 'storage';
  try {
    return { status: 'ok', subject, says: await read() };
  } catch (error) {
    return {
      status: 'warn',
      subject,
      says: `${place} answers, but without the tables of this version (${readMessage(error)})`,
      mend: 'The next start brings it up to date. Make a backup first.',
    };
  }
}
