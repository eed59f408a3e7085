import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { long, quick } from '../../src/testing/full.ts';
import { testKeys } from '../../src/testing/index.ts';
import { startPostgres, type TestPostgres } from '../../src/testing/postgres.ts';
import { json } from '../../src/testing/scripted-responses.ts';
import { startRedis } from '../../src/testing/redis.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type Json, main as workspace } from '../api/manage.ts';
import { centProviders, centRequest, centResponse } from './cents.ts';
import { bootstrap, cleanUp, type GatewayProcess, startGateway } from './gateway-process.ts';

const server = await startPostgres();
const redis = await startRedis();
afterAll(() => Promise.all([server, redis].map((each) => 'stop' in each && each.stop())));
for (const each of [server, redis]) if ('skipped' in each) process.stderr.write(`shared limits: ${each.skipped}\n`);
const isMissing = 'skipped' in server;

interface Case {
  name: string;
  skip: boolean;
  /** The URL of counters outside the store. */
  redis?: string;
  args?: string[];
  /** `it` for the main promises. The other tests are long. */
  main: typeof quick;
}
const cases: Case[] = [
  { name: 'two processes on PostgreSQL', skip: isMissing, main: long },
  {
    name: 'two processes on PostgreSQL with Redis',
    skip: isMissing || 'skipped' in redis,
    redis: 'url' in redis ? redis.url : '',
    main: quick,
  },
  { name: 'four workers on SQLite', skip: false, args: ['--workers', '4'], main: quick },
];

let databases = 0; // of Redis, which has 16

/** Returns a configuration with a store and counters of its own: a killed gateway has not updated all its counters. */
async function createConfig({ redis, args }: Case, upstream: ScriptedUpstream): Promise<object> {
  if (redis !== undefined) databases++;
  return {
    counters: {
      timeout_ms: 20_000, // for a busy machine
      ...(redis !== undefined && { url: `${redis}/${databases}` }),
    },
    catalog: { builtin: false },
    providers: centProviders(upstream),
    bootstrap,
    ...(args ? undefined : { storage: { url: await (server as TestPostgres).createDatabase() } }),
  };
}

async function startCentUpstream(): Promise<ScriptedUpstream> {
  const upstream = await startUpstream();
  upstream.always(answerWithCent);
  return upstream;
}

async function answerWithCent() {
  await nextTurn();
  return centResponse();
}

for (const each of cases) {
  const { name, skip, args, main } = each;
  describe.skipIf(skip)(name, () => {
    let upstream: ScriptedUpstream;
    let config: object;
    let only: GatewayProcess | undefined;

    beforeEach(async () => {
      upstream = await startCentUpstream();
      only = undefined;
      config = await createConfig(each, upstream);
    });
    afterEach(async () => {
      await cleanUp();
      await upstream.close();
    });

    /** Starts another process, or returns the one with all workers. */
    const start = async (more: object = {}): Promise<GatewayProcess> => {
      if (only && args) return only;
      only = await startGateway({ config: { ...config, ...more }, ...(args ? { args } : undefined) });
      return only;
    };
    /** Starts processes, or workers, that read the limit of a key at their start. */
    const startWithKey = async (limit: number) => {
      const first = args ? await startGateway({ config: { ...config } }) : await start();
      const key = await makeKey(first, limit);
      if (!args) return { one: first, two: await start(), key };
      await first.end();
      const all = await startGateway({ folder: first.folder, config: { ...config }, args });
      return { one: all, two: all, key };
    };

    main('admit only as many of two hundred concurrent requests as fit into the limit of a key', async () => {
      const { one, two, key } = await startWithKey(0.1);
      expect(await askAll(200, [one, two], key)).toEqual({ 200: 10, 402: 190 });
      expect(upstream.requests).toHaveLength(10);
      // The reservation is settled after the response.
      await expect
        .poll(async () => (await ask(two, key)).error)
        .toMatchObject({
          message: expect.stringMatching(/^The key "limited" may spend 0\.1 USD in total and has spent 0\.1 USD\.$/),
          metadata: { limit_source: 'router_key_limit' },
        });
    });

    main('admit as many requests per minute as the limit allows', async () => {
      const limits = { limits: { requests_per_minute: 10 } };
      const one = await start(limits);
      const two = await start(limits);
      expect(await askAll(40, [one, two])).toEqual({ 200: 10, 429: 30 });
    });

    long('reserve the tokens of requests in flight of each other', async () => {
      upstream.always(() => new Promise(() => {}));
      const limits = { limits: { tokens_per_minute: 100 } };
      const one = await start(limits);
      const two = await start(limits);
      const client = new AbortController();
      const open = fetch(`${one.url}/api/v1/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${testKeys.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'acme/m', input: 'hi' }),
        signal: client.signal,
      }).catch(() => {});
      await expect.poll(() => upstream.requests.length).toBe(1);
      expect(await askAll(16, [one, two])).toEqual({ 429: 16 });
      client.abort();
      await open;
      upstream.always(centResponse());
      await expect.poll(async () => (await ask(two)).status).toBe(200);
    });

    (args ? it.skip : main)('release the reservations of a killed process as soon as it is back', async () => {
      upstream.always(() => new Promise(() => {}));
      const two = await start();
      const one = await start({ server: { port: 0 } });
      const key = await makeKey(one, 0.01);
      const { key: narrow } = await createKey(one, { concurrent_requests: 1 });
      for (const gateway of [one, two]) await expect.poll(() => isKnown(gateway, narrow)).toBe(true);
      void ask(one, key, { stream: true }).catch(() => {});
      void ask(one, narrow).catch(() => {});
      await expect.poll(() => upstream.requests.length).toBe(2);
      upstream.always(centResponse());
      await expect.poll(async () => (await ask(two, key)).error?.metadata?.reason).toBe('in_flight_budget_exhausted');
      expect((await ask(two, narrow)).status).toBe(429);
      await one.end('SIGKILL');
      expect((await ask(two, key)).status).toBe(402);
      expect((await ask(two, narrow, { stream: true })).status).toBe(429);

      await startGateway({ folder: one.folder, config: { ...config } });
      await expect.poll(async () => (await ask(two, key)).status).toBe(200);
      await expect.poll(async () => (await ask(two, narrow)).status).toBe(200);
    });

    long('count the requests in flight of each other', async () => {
      upstream.always(() => new Promise(() => {}));
      const limits = { limits: { workspace: { concurrent_requests: 1 } } };
      const one = await start(limits);
      const two = await start(limits);
      const client = new AbortController();
      const open = fetch(`${one.url}/api/v1/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${testKeys.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'acme/m', input: 'hi', stream: true }),
        signal: client.signal,
      }).catch(() => {});
      await expect.poll(() => upstream.requests.length).toBe(1);
      expect((await ask(two, undefined, { stream: true })).status).toBe(429);
      client.abort();
      await open;
      upstream.always(centResponse());
      await expect.poll(async () => (await ask(two, undefined, { stream: false })).status).toBe(200);
    });
  });

  describe.skipIf(skip)(`${name}, running`, () => {
    let upstream: ScriptedUpstream;
    let one: GatewayProcess;
    let two: GatewayProcess;
    beforeAll(async () => {
      upstream = await startCentUpstream();
      const config = { ...(await createConfig(each, upstream)) };
      one = await startGateway({ config, ...(args && { args }) });
      two = args ? one : await startGateway({ config });
    });
    beforeEach(() => upstream.always(answerWithCent));
    afterAll(async () => {
      await cleanUp();
      await upstream.close();
    });

    /** Creates a key that all processes have read. */
    const createKnownKey = async (fields: object): Promise<{ hash: string; key: string }> => {
      const created = await createKey(one, fields);
      // Several times, because each worker takes some of the connections.
      for (const gateway of Array.from({ length: 8 }, () => [one, two]).flat())
        await expect.poll(() => isKnown(gateway, created.key)).toBe(true);
      return created;
    };

    long('see at once the spending of each other', async () => {
      const { key } = await createKnownKey({ limit: 0.03 });
      for (const [gateway, status] of [
        [one, 200],
        [two, 200],
        [one, 200],
        [two, 402],
        [one, 402],
      ] as const) {
        expect((await ask(gateway, key)).status).toBe(status);
      }
    });

    long('release the reservations of failed requests', async () => {
      upstream.always(json({ error: { message: 'No.' } }, { status: 500 }));
      const { key } = await createKnownKey({ limit: 0.01 });
      for (const gateway of [one, two, one, two]) {
        // The reservation is released after the response.
        await expect.poll(async () => (await ask(gateway, key)).status).toBe(502);
      }
    });

    long('apply rate limits of a key, a member and a workspace that the other one set', async () => {
      const { hash, key } = await createKnownKey({ creator_user_id: 'ada' });
      for (const path of [`/keys/${hash}`, '/members/ada', `/workspaces/${workspace}`]) {
        await manageAt(one, 'PATCH', path, { requests_per_minute: 1 });
        await expect.poll(async () => (await ask(two, key)).status).toBe(429);
        expect((await ask(one, key)).status).toBe(429);
        await manageAt(one, 'PATCH', path, { requests_per_minute: null });
        await expect.poll(async () => (await ask(two, key)).status).toBe(200);
      }
    });

    long('admit as many requests per minute as the limit of a key allows', async () => {
      const { key } = await createKnownKey({ requests_per_minute: 10 });
      expect(await askAll(40, [one, two], key)).toEqual({ 200: 10, 429: 30 });
    });
  });
}

/** @returns the number of responses by status */
async function askAll(count: number, gateways: GatewayProcess[], key?: string): Promise<Record<string, number>> {
  const answers = Array.from({ length: count }, async (_, at) => {
    const answer = await ask(gateways[at % gateways.length]!, key);
    return answer.status;
  });
  return Object.fromEntries(
    Object.entries(Object.groupBy(await Promise.all(answers), String)).map(([status, all]) => [status, all!.length]),
  );
}

async function ask(gateway: GatewayProcess, key?: string, more: object = {}) {
  const answer = await gateway.post({ ...centRequest, ...more }, key);
  const text = await answer.text();
  return { status: answer.status, error: text.startsWith('{') ? JSON.parse(text).error : undefined };
}

const makeKey = async (gateway: GatewayProcess, limit: number): Promise<string> =>
  (await createKey(gateway, { limit })).key;

async function createKey(gateway: GatewayProcess, fields: object): Promise<{ hash: string; key: string }> {
  const body = { name: 'limited', workspace_id: workspace, ...fields };
  const { key, data } = await manageAt(gateway, 'POST', '/keys', body);
  return { key, hash: data.hash };
}

async function manageAt(gateway: GatewayProcess, method: string, path: string, body: object): Promise<Json> {
  const answer = await fetch(`${gateway.url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${testKeys.managementKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(answer.ok).toBe(true);
  return answer.json();
}

/** Whether the process has read a key that another one has created. */
async function isKnown(gateway: GatewayProcess, key: string): Promise<boolean> {
  const answer = await fetch(`${gateway.url}/api/v1/models/count`, { headers: { authorization: `Bearer ${key}` } });
  await answer.arrayBuffer();
  return answer.ok;
}
