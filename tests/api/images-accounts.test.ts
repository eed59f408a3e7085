import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { openSqliteStorage } from '../../src/platform/storage/sqlite/open.ts';
import { json } from '../../src/testing/scripted-responses.ts';
import { type TestGateway, testGateway, testKeys } from '../../src/testing/index.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { cleanUp, startGateway } from '../lifecycle/gateway-process.ts';
import { answerWith, draw, paint } from './images-lab.ts';

const gateways: TestGateway[] = [];
const upstreams: ScriptedUpstream[] = [];
afterEach(async () => {
  await cleanUp();
  for (const gateway of gateways.splice(0)) await gateway.close();
  for (const upstream of upstreams.splice(0)) await upstream.close();
});

/** Its images cost a dollar each. */
const painter = (url: string) => ({
  id: 'painter',
  wire: 'openai-images',
  base_url: url,
  models: [
    {
      model: 'painter/m',
      image: {
        parameters: { n: { type: 'range', min: 1, max: 4 } },
        pricing: [{ billable: 'output_image', unit: 'image', cost_usd: 1 }],
      },
    },
  ],
});

async function openUpstream(): Promise<ScriptedUpstream> {
  const upstream = await startUpstream();
  upstreams.push(upstream);
  return upstream;
}
async function open(parts: Record<string, unknown> = {}): Promise<TestGateway> {
  const gateway = await testGateway(parts);
  gateways.push(gateway);
  return gateway;
}
const small = { size: '64x64', output_format: 'svg' };

describe('an image generation', () => {
  it('counts for the rate limits of its key, streamed or not, and is rejected with 429', async () => {
    const gateway = await open({ limits: { requests_per_minute: 2 } });
    expect((await draw(gateway, small)).status).toBe(200);
    expect((await draw(gateway, { ...small, stream: true })).status).toBe(200);
    const refused = await draw(gateway, small, { headers: { 'x-router-metadata': 'enabled' } });
    expect(refused.status).toBe(429);
    expect(refused.headers.get('x-ratelimit-limit')).toBe('2');
    expect(refused.body).not.toHaveProperty('router_metadata');
    expect((await gateway.post('/responses', { model: 'simulator/echo', input: 'Hi' })).status).toBe(429);
  });

  it('fails with a status of its path if it cannot be counted', async () => {
    const url = 'redis://127.0.0.1:9';
    const gateway = await open({ counters: { url, on_failure: 'closed' }, limits: { requests_per_minute: 9 } });
    expect((await gateway.post('/responses', { model: 'simulator/echo', input: 'Hi' })).status).toBe(503);
    const refused = await draw(gateway, small);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([529, '5']);
    expect(refused.body.error!.message).toContain('counters of rate limits');
  });

  it('obeys the guardrail of its workspace', async () => {
    const gateway = await open();
    const key = { key: gateway.managementKey };
    const workspace = (await (await gateway.get('/workspaces/main', key)).json()) as {
      data: { default_guardrail_id: string };
    };
    const path = `/guardrails/${workspace.data.default_guardrail_id}`;
    expect((await gateway.send('PATCH', path, { allowed_models: ['simulator/echo'] }, key)).status).toBe(200);
    const refused = await draw(gateway, small);
    expect(refused.status).toBe(403);
    expect(refused.body.error!.message).toContain('simulator/image');
    expect((await gateway.send('PATCH', path, { allowed_models: null }, key)).status).toBe(200);
    expect((await draw(gateway, small)).status).toBe(200);
  });

  it('reserves the price of its images from the budget of its workspace before it is sent', async () => {
    const upstream = await openUpstream();
    const gateway = await open({ providers: [painter(upstream.url)] });
    const key = { key: gateway.managementKey };
    const image = await paint({ width: 64, height: 64 });
    for (const n of [2, 1]) upstream.respond(json(answerWith(Array.from({ length: n }, () => image))));
    await gateway.send('PUT', '/workspaces/main/budgets/daily', { limit_usd: 3 }, key);
    const ask = (n: number) => draw(gateway, { model: 'painter/m', n });
    const tooMuch = await ask(4);
    expect(tooMuch.status).toBe(403);
    expect(tooMuch.body.error!.metadata).toMatchObject({ reason: 'weight_exceeds_budget', interval: 'daily' });
    expect((await ask(2)).body.usage).toMatchObject({ cost: 2 });
    expect((await ask(2)).status).toBe(403);
    expect((await ask(1)).status).toBe(200);
    const spent = await ask(1);
    expect(spent.body.error!.metadata).toMatchObject({ limit_source: 'workspace_budget' });
    expect(upstream.requests).toHaveLength(2);
  });

  it('that was ended by kill -9 costs nothing, and is in the ledger', async () => {
    const upstream = await openUpstream();
    const { promise: asked, resolve: noteRequested } = Promise.withResolvers<void>();
    upstream.always(() => {
      noteRequested();
      return new Promise(() => {}); // its result stays unknown
    });
    const config = { providers: [painter(upstream.url)] };
    const gateway = await startGateway({ config });
    const answer = gateway.post({ model: 'painter/m', prompt: 'A red fox' }, testKeys.key, '/images').catch(String);
    await asked;
    await gateway.end('SIGKILL');
    expect(await answer).toMatch(/fetch failed/);
    const again = await startGateway({ config, folder: gateway.folder });
    expect(await (await again.get('/api/v1/key')).json()).toMatchObject({ data: { usage: 0 } });
    expect(await again.end()).toBe(0);
    const storage = await openSqliteStorage(join(gateway.folder, 'data', 'headgate.db'));
    const entries = await storage.ledger.list({ limit: 10 });
    await storage.close();
    expect(entries).toMatchObject([
      { apiType: 'image', model: 'painter/m', costNanoUsd: 0n, status: 503, errorType: 'gateway_stopped' },
    ]);
  });

  it('names the unknown providers of its preferences', async () => {
    const gateway = await open();
    const headers = { 'x-router-metadata': 'enabled' };
    const { status, body } = await draw(gateway, { ...small, provider: { order: ['simulatr'] } }, { headers });
    expect(status).toBe(200);
    expect(body.router_metadata).toMatchObject({ params: { unknown_providers: ['simulatr'] } });
  });
});
