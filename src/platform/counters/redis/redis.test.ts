import { Redis } from 'iovalkey';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startRedis, type TestRedis } from '../../../testing/redis.ts';
import { testCounters, testSharedCounters } from '../contract.ts';
import { openRedisCounters } from './open.ts';

const server = await startRedis();

if ('skipped' in server) {
  process.stderr.write(`counters: redis: skipped. ${server.skipped}\n`);
  describe.skip('counters: redis', () => it(server.skipped, () => {}));
} else {
  const [front, back] = await startCluster();
  const sentinel = await start({ sentinel: `sentinel monitor main 127.0.0.1 ${new URL(server.url).port} 1\n` });
  afterAll(async () => {
    for (const each of [server, front, back, sentinel]) await each.stop();
  });
  const open = async () => openRedisCounters(server.url, 1000);
  testCounters('redis', open);
  testSharedCounters('redis', open, () => server.flush());

  // The keys are at the other node than the one of the URL.
  const openByNode = async () => openRedisCounters(front.url, 1000);
  testCounters('a cluster, by a node', openByNode);
  testSharedCounters('a cluster, by a node', openByNode, () => back.flush());
  testCounters('a cluster, by two nodes', async () => openRedisCounters(`${front.url},${back.url}`, 1000));

  const openBySentinel = async () => openRedisCounters(sentinel.url, 1000, { primary: 'main' });
  testCounters('sentinels', openBySentinel);
  testSharedCounters('sentinels', openBySentinel, () => server.flush());

  it('names the setting that a Sentinel needs', async () => {
    const counters = openRedisCounters(sentinel.url, 1000);
    onTestFinished(() => counters.close());
    await expect(counters.ping()).rejects.toThrow('is a Sentinel: set counters.sentinel.primary');
  });
}

async function start(options: Parameters<typeof startRedis>[0]): Promise<TestRedis> {
  const started = await startRedis(options);
  if ('skipped' in started) throw new Error(started.skipped);
  return started;
}

/** Starts two nodes. The second one has the keys of the gateway. */
async function startCluster(): Promise<[TestRedis, TestRedis]> {
  const flags = ['--cluster-enabled', 'yes'];
  const nodes = [await start({ flags }), await start({ flags })] as [TestRedis, TestRedis];
  const clients = nodes.map(({ url }) => new Redis(url));
  const [front, back] = clients as [Redis, Redis];
  const slot = Number(await front.cluster('KEYSLOT', '{headgate}'));
  await back.call('CLUSTER', 'ADDSLOTSRANGE', String(slot), '16383');
  await front.call('CLUSTER', 'ADDSLOTSRANGE', '0', String(slot - 1));
  await front.call('CLUSTER', 'MEET', '127.0.0.1', new URL(nodes[1].url).port);
  await vi.waitFor(
    async () => {
      for (const client of clients) expect(await client.call('CLUSTER', 'INFO')).toContain('cluster_state:ok');
    },
    { timeout: 60_000 },
  );
  for (const client of clients) client.disconnect();
  return nodes;
}
