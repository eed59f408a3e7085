import { afterAll, describe, it } from 'vitest';
import { startRedis } from '../../../testing/redis.ts';
import { testCounters, testSharedCounters } from '../contract.ts';
import { openRedisCounters } from './open.ts';

const server = await startRedis();

if ('skipped' in server) {
  process.stderr.write(`counters: redis: skipped. ${server.skipped}\n`);
  describe.skip('counters: redis', () => it(server.skipped, () => {}));
} else {
  afterAll(() => server.stop());
  const open = async () => openRedisCounters(server.url, 1000);
  testCounters('redis', open);
  testSharedCounters('redis', open, () => server.flush());
}
