import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:tls';
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

  // https://github.com/langfuse/langfuse/issues/11016, https://github.com/linagora/tmail-backend/issues/1688
  it.each([
    ['without memory', ['config', 'set', 'maxmemory', '1'], ['config', 'set', 'maxmemory', '0'], 'OOM'],
    ['that is a replica', ['replicaof', '127.0.0.1', '1'], ['replicaof', 'no', 'one'], 'READONLY'],
  ])('a server %s does not respond to a ping until it writes again', async (_name, change, undo, error) => {
    const admin = new Redis(server.url);
    const counters = openRedisCounters(server.url, 1000);
    onTestFinished(async () => {
      await counters.close();
      admin.disconnect();
    });
    await admin.call(...(change as [string, ...string[]]));
    await expect(counters.ping()).rejects.toThrow(error);
    await admin.call(...(undo as [string, ...string[]]));
    await vi.waitFor(() => counters.ping());
  });

  it('verifies the certificate of a server unless ssl_cert_reqs says otherwise', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-redis-tls-'));
    const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
    const words = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost';
    execFileSync('openssl', [...words.split(' '), '-keyout', key, '-out', certificate], { stdio: 'ignore' });
    const tlsFront = createServer({ key: readFileSync(key), cert: readFileSync(certificate) }, (socket) => {
      const back = connect(Number(new URL(server.url).port), '127.0.0.1');
      socket.on('error', () => back.destroy()).pipe(back);
      back.on('error', () => socket.destroy()).pipe(socket);
    });
    tlsFront.listen(0, '127.0.0.1');
    await once(tlsFront, 'listening');
    const url = `rediss://127.0.0.1:${(tlsFront.address() as AddressInfo).port}`;
    const [strict, lenient] = [url, `${url}?ssl_cert_reqs=none`].map((each) => openRedisCounters(each, 1000));
    onTestFinished(async () => {
      await Promise.all([strict!.close(), lenient!.close()]);
      tlsFront.close();
      rmSync(folder, { recursive: true });
    });
    await expect(strict!.ping()).rejects.toThrow('self-signed certificate');
    await vi.waitFor(() => lenient!.ping());
  });

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
  await vi.waitFor(async () => {
    for (const client of clients) expect(await client.call('CLUSTER', 'INFO')).toContain('cluster_state:ok');
  });
  for (const client of clients) client.disconnect();
  return nodes;
}
