import { afterAll, describe, it } from 'vitest';
import { startPostgres } from '../../../testing/postgres.ts';
import { openPostgresStorage } from '../../storage/postgres/open.ts';
import { testCounters } from '../contract.ts';
import { openPostgresCounters } from './open.ts';

const server = await startPostgres();

if ('skipped' in server) {
  process.stderr.write(`counters: postgres: skipped. ${server.skipped}\n`);
  describe.skip('counters: postgres', () => it(server.skipped, () => {}));
} else {
  afterAll(() => server.stop());
  const storage = await openPostgresStorage(server.url, { poolSize: 1 });
  await storage.migrate();
  await storage.close();
  testCounters('postgres', () => openPostgresCounters(server.url, 5000));
}
