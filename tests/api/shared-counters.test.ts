import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startRedis, type TestRedis } from '../../src/testing/redis.ts';
import { type TestGateway, testGateway, testKeys } from '../../src/testing/test-gateway.ts';
import { main, manage } from './manage.ts';

const server = await startRedis();
if ('skipped' in server) process.stderr.write(`shared counters: skipped. ${server.skipped}\n`);

describe.skipIf('skipped' in server)('shared counters that are killed', () => {
  const redis = server as TestRedis;
  let gateway: TestGateway;
  beforeEach(async () => {
    await redis.kill();
    await redis.start();
  });
  afterEach(() => gateway.close());
  afterAll(() => redis.stop());

  const start = async (counters: object, parts: object = {}) => {
    gateway = await testGateway({ counters: { url: redis.url, timeout_ms: 5000, ...counters }, ...parts });
  };
  const ask = async (key: string = testKeys.key) => {
    const answer = await gateway.post('/responses', { model: 'simulator/echo', input: 'Hello' }, { key });
    const { error } = (await answer.json()) as { error?: { message: string } };
    return { status: answer.status, retryAfter: answer.headers.get('retry-after'), message: error?.message };
  };
  const limits = { requests_per_minute: 2 };

  it('let each process count separately, and take over when they are back', async () => {
    await start({}, { limits });
    await redis.kill();
    for (const status of [200, 200, 429]) expect((await ask()).status).toBe(status);
    const metrics = await fetch(`${gateway.url}/metrics`);
    expect(await metrics.text()).toMatch(/^headgate_counter_failures_total [1-9]/m);

    await redis.start();
    await expect.poll(async () => (await ask()).status).toBe(200); // the count starts over there
    expect((await ask()).status).toBe(200);
    expect((await ask()).status).toBe(429);
  });

  it('reject requests with limits if configured: 503, never 401', async () => {
    await start({ on_failure: 'closed' }, { limits });
    await redis.kill();
    for (let at = 0; at < 3; at++) {
      const { status, retryAfter, message } = await ask();
      expect(status).toBe(503);
      expect(retryAfter).toBe('5');
      expect(message).toMatch(/^The counters of rate limits do not respond/);
    }
    await gateway.reload({ counters: { url: redis.url, on_failure: 'closed' } }); // without limits
    expect((await ask()).status).toBe(200);
  });

  it('let budgets be reserved in memory for a while, then return 503', async () => {
    await start({ grace_ms: 0 });
    const made = await manage(() => gateway)('POST', '/keys', { name: 'limited', limit: 1, workspace_id: main });
    expect((await ask(made.body.key)).status).toBe(200);
    await redis.kill();
    expect((await ask(made.body.key)).status).toBe(503);
    expect((await ask()).status).toBe(200); // which has no budget
    await gateway.reload({ counters: { url: redis.url, grace_ms: 600_000 } });
    expect((await ask(made.body.key)).status).toBe(200);
  });

  const ready = async () => {
    const answer = await gateway.get('/ready', { key: null });
    return { status: answer.status, body: await answer.json() };
  };

  it('make a gateway unready if all its requests are rejected for them', async () => {
    await start({ on_failure: 'closed' }, { limits });
    expect(await ready()).toEqual({ status: 200, body: { status: 'ready' } });
    await redis.kill();
    expect((await ask()).status).toBe(503);
    expect(await ready()).toMatchObject({
      status: 503,
      body: { error: { message: expect.stringMatching(/^The shared counters have not responded since 2\d{3}-/) } },
    });
    await gateway.reload({ counters: { url: redis.url, on_failure: 'closed' } }); // without limits
    const isNamed = { status: 'ready', counters: expect.stringMatching(/^unreachable since 2\d{3}-/) };
    expect(await ready()).toEqual({ status: 200, body: isNamed });

    const organization = { organization: { daily: 1 } };
    await gateway.reload({ counters: { url: redis.url, grace_ms: 0 }, budgets: organization });
    expect((await ready()).status).toBe(503);
    await gateway.reload({ counters: { url: redis.url, grace_ms: 600_000 }, budgets: organization });
    expect(await ready()).toEqual({ status: 200, body: isNamed });
    await redis.start();
    await expect.poll(ready).toEqual({ status: 200, body: { status: 'ready' } });
  });

  it('do not prevent a start', async () => {
    await redis.kill();
    await start({}, { limits });
    expect((await ask()).status).toBe(200);
  });
});
