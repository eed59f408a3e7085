import { afterAll, describe, it } from 'vitest';
import { startRedis } from '../../../testing/redis.ts';
import { testCounters } from '../contract.ts';
import { openRedisCounters } from './open.ts';

const server = await startRedis();

if ('skipped' in server) {
  process.stderr.write(`counters: redis: skipped. ${server.skipped}\n`);
  describe.skip('counters: redis', () => it(server.skipped, () => {}));
} else {
  afterAll(() => server.stop());
  testCounters('redis', async () => openRedisCounters(server.url, 1000));
}
