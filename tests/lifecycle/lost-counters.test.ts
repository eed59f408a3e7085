import pg from 'pg';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { startPostgres, type TestPostgres } from '../../src/testing/postgres.ts';
import { startRedis, type TestRedis } from '../../src/testing/redis.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { main, manage } from '../api/manage.ts';

const servers = [await startPostgres(), await startRedis()] as const;
afterAll(() => Promise.all(servers.map((each) => 'stop' in each && each.stop())));
const skipped = servers.flatMap((each) => ('skipped' in each ? [each.skipped] : []));
if (skipped.length > 0) process.stderr.write(`lost counters: ${skipped.join('; ')}\n`);
const [postgres, redis] = servers as unknown as [TestPostgres, TestRedis];

/** Ten output tokens at 0.001 USD: one cent. */
const cent = () =>
  json({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello there.' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 5, completion_tokens: 10, total_tokens: 15 },
  });

describe.skipIf(skipped.length > 0)('two hosts whose shared counters lose their counts', { timeout: 60_000 }, () => {
  let upstream: ScriptedUpstream;
  const hosts: TestGateway[] = [];
  let databases = 0;

  beforeEach(async () => {
    upstream = await startUpstream();
    upstream.always(cent());
  });
  afterEach(async () => {
    for (const host of hosts.splice(0)) await host.close();
    await upstream.close();
  });

  async function open(counters: object): Promise<[TestGateway, TestGateway]> {
    const name = `lost_${++databases}`;
    const admin = new pg.Client({ connectionString: postgres.url });
    await admin.connect();
    await admin.query(`create database ${name}`);
    await admin.end();
    const start = async () => {
      const host = await testGateway({
        storage: { url: new URL(`/${name}`, postgres.url).href },
        counters: { timeout_ms: 10_000, ...counters },
        catalog: { builtin: false },
        providers: [
          {
            id: 'acme',
            wire: 'openai-chat',
            base_url: upstream.url,
            models: [{ model: 'acme/m', pricing: { prompt: 0, completion: 0.001 } }],
          },
        ],
      });
      hosts.push(host);
      return host;
    };
    return [await start(), await start()];
  }

  async function makeKey(limit: number, more: object = {}): Promise<string> {
    const made = await manage(() => hosts[0]!)('POST', '/keys', { name: 'k', limit, workspace_id: main, ...more });
    const { key } = made.body as { key: string };
    for (const host of hosts) await expect.poll(() => ask(host, key, 'no/model')).not.toBe(401);
    return key;
  }
  async function ask(host: TestGateway, key: string, model = 'acme/m'): Promise<number> {
    const answer = await host.post('/responses', { model, input: 'Hello', max_output_tokens: 10 }, { key });
    await answer.arrayBuffer();
    return answer.status;
  }
  /** Sends many concurrent requests to both hosts in turn. @returns how many succeeded */
  async function askAll(count: number, key: string): Promise<number> {
    const statuses = await Promise.all(Array.from({ length: count }, (_, at) => ask(hosts[at % 2]!, key)));
    expect(statuses.filter((status) => status !== 200 && status !== 402)).toEqual([]);
    return statuses.filter((status) => status === 200).length;
  }

  it('do not grant a budget twice: Redis is emptied', async () => {
    await open({ url: `${redis.url}/1` });
    const key = await makeKey(1);
    expect(await askAll(60, key)).toBe(60);
    await redis.flush();
    expect(await askAll(60, key)).toBe(40);
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
      return cent();
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

  it('do not grant a budget twice: PostgreSQL crashes, which empties its counters', async () => {
    await open({});
    const key = await makeKey(1);
    expect(await askAll(60, key)).toBe(60);
    await postgres.crash();
    await postgres.start();
    expect(60 + (await askAll(80, key))).toBe(100);
  });
});
