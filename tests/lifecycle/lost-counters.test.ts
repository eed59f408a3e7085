import { Redis } from 'iovalkey';
import pg from 'pg';
import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { startPostgres, type TestPostgres } from '../../src/testing/postgres.ts';
import { startRedis, type TestRedis } from '../../src/testing/redis.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { main, manage } from '../api/manage.ts';
import { centProviders, centRequest, centResponse } from './cents.ts';

const servers = [await startPostgres(), await startRedis()] as const;
afterAll(() => Promise.all(servers.map((each) => 'stop' in each && each.stop())));
const skipped = servers.flatMap((each) => ('skipped' in each ? [each.skipped] : []));
if (skipped.length > 0) process.stderr.write(`lost counters: ${skipped.join('; ')}\n`);
const [postgres, redis] = servers as unknown as [TestPostgres, TestRedis];

describe.skipIf(skipped.length > 0)('two hosts whose shared counters lose their counts', () => {
  let upstream: ScriptedUpstream;
  const hosts: TestGateway[] = [];

  beforeEach(async () => {
    upstream = await startUpstream();
    upstream.always(centResponse());
  });
  afterEach(async () => {
    for (const host of hosts.splice(0)) await host.close();
    await upstream.close();
  });

  /** @returns the URL of the store */
  async function open(counters: object): Promise<string> {
    const database = await postgres.createDatabase();
    const start = async () => {
      const host = await testGateway({
        storage: { url: database },
        counters: { timeout_ms: 10_000, ...counters },
        catalog: { builtin: false },
        providers: centProviders(upstream),
      });
      hosts.push(host);
      return host;
    };
    await start();
    await start();
    return database;
  }

  async function makeKey(limit: number, more: object = {}): Promise<string> {
    const made = await manage(() => hosts[0]!)('POST', '/keys', { name: 'k', limit, workspace_id: main, ...more });
    const { key } = made.body as { key: string };
    for (const host of hosts) await expect.poll(() => ask(host, key, 'no/model')).not.toBe(401);
    return key;
  }
  async function ask(host: TestGateway, key: string, model = 'acme/m'): Promise<number> {
    const answer = await host.post('/responses', { ...centRequest, model }, { key });
    await answer.arrayBuffer();
    return answer.status;
  }
  /** Sends many requests to hosts in turn. @returns how many were served */
  async function askAll(count: number, key: string, to: readonly TestGateway[] = hosts): Promise<number> {
    const statuses = await Promise.all(Array.from({ length: count }, (_, at) => ask(to[at % to.length]!, key)));
    expect(statuses.filter((status) => status !== 200 && status !== 402)).toEqual([]);
    return statuses.filter((status) => status === 200).length;
  }

  /** Waits until the ledger has all that was spent: a busy machine may need more time than the gateway allows. */
  async function untilStored(cents: number): Promise<void> {
    const { ledger } = hosts[0]!.gateway.storage;
    await expect.poll(async () => (await ledger.readTotals(main)).costNanoUsd).toBe(BigInt(cents) * 10_000_000n);
  }

  it('report a Redis without memory until it has some', async () => {
    await open({ url: `${redis.url}/1` });
    const key = await makeKey(1);
    const admin = new Redis(redis.url);
    onTestFinished(async () => {
      await admin.config('SET', 'maxmemory', '0');
      admin.disconnect();
    });
    await admin.config('SET', 'maxmemory', '1');
    const [host] = hosts as [TestGateway];
    expect(await ask(host, key)).toBe(200);
    expect(await ask(host, key)).toBe(200);
    const readReady = async () => (await host.get('/ready')).json();
    expect(await readReady()).toHaveProperty('counters', expect.stringContaining('unreachable since'));
    await admin.config('SET', 'maxmemory', '0');
    await expect.poll(readReady).toEqual({ status: 'ready' });
  });

  it('do not grant a budget twice: Redis is emptied', async () => {
    await open({ url: `${redis.url}/1` });
    const key = await makeKey(1);
    expect(await askAll(60, key)).toBe(60);
    await untilStored(60);
    await redis.flush();
    expect(await askAll(60, key)).toBe(40);
    await untilStored(100);
    await redis.flush();
    expect(await askAll(60, key)).toBe(0);
  });

  it('do not grant a budget twice: Redis is emptied under load', async () => {
    await open({ url: `${redis.url}/2` });
    const key = await makeKey(1);
    let [answered, asked] = [0, 0];
    const load = Array.from({ length: 8 }, async (_, at) => {
      for (; asked < 300; ) {
        asked++;
        if ((await ask(hosts[at % 2]!, key)) === 200) answered++;
        if (answered === 30 || answered === 50) await redis.flush();
      }
    });
    await Promise.all(load);
    expect(answered).toBe(100);
  });

  it('do not grant a budget twice: Redis is killed and starts empty', async () => {
    await open({ url: `${redis.url}/3` });
    const key = await makeKey(0.5, { limit_reset: 'daily' });
    expect(await askAll(30, key)).toBe(30);
    await untilStored(30);
    await redis.kill();
    await redis.start();
    expect(await askAll(60, key)).toBe(20);
  });

  it('reserve again what is in flight', async () => {
    await open({ url: `${redis.url}/4` });
    const key = await makeKey(0.02);
    const answer = Promise.withResolvers<void>();
    upstream.respond(async () => {
      await answer.promise;
      return centResponse();
    });
    const slow = ask(hosts[0]!, key);
    await expect.poll(() => upstream.requests.length).toBe(1);
    await redis.flush();
    expect(await ask(hosts[0]!, key)).toBe(200);
    expect(await ask(hosts[0]!, key)).toBe(402); // one cent is spent, one is reserved
    expect(await ask(hosts[1]!, key)).toBe(402);
    answer.resolve();
    expect(await slow).toBe(200);
    expect(await ask(hosts[1]!, key)).toBe(402);
  });

  it.each([
    ['both hosts', 2],
    ['one host', 1],
  ])('do not grant a budget twice: PostgreSQL crashes before it has the ledger entries, then %s serve', async (_, count) => {
    const database = await open({});
    const key = await makeKey(1);
    expect(await askAll(10, key)).toBe(10);
    await untilStored(10);
    const blocker = new pg.Client({ connectionString: database });
    blocker.on('error', () => {}); // the crash
    await blocker.connect();
    await blocker.query('begin; lock table ledger in share mode'); // no further entry is stored before the crash
    expect(await askAll(50, key)).toBe(50);
    await postgres.crash();
    await postgres.start();
    expect(60 + (await askAll(80, key, hosts.slice(0, count)))).toBe(100);
  });
});
