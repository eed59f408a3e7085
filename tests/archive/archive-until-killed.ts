import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { exportLedger } from '../../src/cli/export-ledger.ts';
import { loadConfig } from '../../src/config/load.ts';
import { archiveLedger } from '../../src/metering/archive/archive-ledger.ts';
import { writeDay } from '../../src/metering/archive/archive-files.ts';
import { openDiskObjects } from '../../src/platform/objects/disk/disk-objects.ts';
import { openPostgresStorage } from '../../src/platform/storage/postgres/open.ts';
import { openSqliteStorage } from '../../src/platform/storage/sqlite/open.ts';
import { DAY_MS, FIRST_DAY, keepDays } from './ledgers.ts';

/**
 * A process that `archive-kill.full.test.ts` kills while it archives and exports. Arguments: its folder, and the URL of a
 * PostgreSQL or nothing. It writes a line when it begins.
 */
const [data, url] = process.argv.slice(2) as [string, string?];
const storage = url
  ? await openPostgresStorage(url, { poolSize: 2 })
  : await openSqliteStorage(join(data, 'headgate.db'));
const env = url ? { HEADGATE_STORAGE_URL: url } : {};
const { config } = loadConfig({ env, cwd: data, file: null, flags: { data } });
const terminal = { stdout: { write() {} }, stderr: { write() {} } };
const output = join(data, 'killed.parquet');
const days = { from: writeDay(FIRST_DAY), to: writeDay(FIRST_DAY + 50) };
writeSync(1, 'begins\n');
await Promise.all([
  archiveLedger(
    {
      archives: storage.archives,
      objects: openDiskObjects(join(data, 'files')),
      readRetention: keepDays(1),
      readExportedPlaces: async () => [],
      now: () => (FIRST_DAY + 60) * DAY_MS,
    },
    new AbortController().signal,
  ),
  exportLedger(terminal, config, { ...days, format: 'parquet', output, archived: true }),
]);
writeSync(1, 'ends\n');
process.exit(0);
