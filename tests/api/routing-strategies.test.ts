import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { json, type ScriptedResponse } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { answer, ask, type Mode } from './lab.ts';
import { expectText } from './outcome.ts';

let gateway: TestGateway;
let stable: ScriptedUpstream;
let canary: ScriptedUpstream;
beforeEach(async () => {
  [stable, canary] = await Promise.all([startUpstream(), startUpstream()]);
});
afterEach(() => Promise.all([gateway?.close(), stable.close(), canary.close()]));

const failed: ScriptedResponse = json({ error: { message: 'No.' } }, { status: 503 });

/** The model `acme/m` at two providers with these weights. */
const config = (weights: { stable?: number; canary?: number }, routing: object = { strategy: 'weighted' }) => {
  const entry = (id: 'stable' | 'canary', upstream: ScriptedUpstream) => ({
    id,
    wire: 'openai-chat',
    base_url: upstream.url,
    models: [{ model: 'acme/m', upstream_model: 'm', ...(weights[id] !== undefined && { weight: weights[id] }) }],
  });
  return {
    catalog: { builtin: false },
    providers: [entry('stable', stable), entry('canary', canary)],
    routing: { seed: 3, ...routing },
  };
};

describe.each<{ mode: Mode }>([{ mode: 'buffered' }, { mode: 'streamed' }])('$mode', ({ mode }) => {
  const open = async (...parts: Parameters<typeof config>) => {
    for (const upstream of [stable, canary]) upstream.always(answer({ wire: 'openai-chat', mode }));
    gateway = await testGateway(config(...parts));
  };
  const askMany = async (count: number, body: object = {}) => {
    for (let done = 0; done < count; done++)
      expectText(await ask(gateway, mode, { model: 'acme/m', ...body }), 'Hello there.');
    return [stable.requests.length, canary.requests.length];
  };

  it('sends a canary its weight in requests, and another weight after a reload', async () => {
    await open({ stable: 9, canary: 1 });
    const [before, few] = await askMany(60);
    expect(few).toBeGreaterThan(0);
    expect(few).toBeLessThan(20);
    await gateway.reload(config({ stable: 0, canary: 1 }));
    expect(await askMany(10)).toEqual([before, few! + 10]);
  });

  it('falls back to an endpoint of weight 0, and only then', async () => {
    await open({ stable: 1, canary: 0 });
    expect(await askMany(10)).toEqual([10, 0]);
    stable.always(failed);
    expect(await askMany(1)).toEqual([11, 1]);
  });

  it('gives precedence to `provider.order` and `provider.sort` of the request', async () => {
    await open({ stable: 1, canary: 0 });
    expect(await askMany(3, { provider: { order: ['canary'] } })).toEqual([0, 3]);
    await gateway.reload(config({ stable: 1_000_000, canary: 1 }));
    expect(await askMany(3, { provider: { order: ['canary'] } })).toEqual([0, 6]);
  });

  it('sends a request to the endpoint with the fewest attempts in flight', async () => {
    await open({}, { models: [{ model: 'acme/*', strategy: 'least-busy' }] });
    const held = Promise.withResolvers<void>();
    const holding = async () => {
      await held.promise;
      return answer({ wire: 'openai-chat', mode });
    };
    for (const upstream of [stable, canary]) upstream.always(holding);
    const waiting: ReturnType<typeof ask>[] = [];
    for (let count = 1; count <= 4; count++) {
      waiting.push(ask(gateway, mode, { model: 'acme/m' }));
      await expect.poll(() => stable.requests.length + canary.requests.length).toBe(count);
    }
    expect([stable.requests.length, canary.requests.length]).toEqual([2, 2]);
    canary.always(answer({ wire: 'openai-chat', mode }));
    waiting.push(ask(gateway, mode, { model: 'acme/m', provider: { only: ['stable'] } }));
    await expect.poll(() => stable.requests.length).toBe(3);
    expect(await askMany(5)).toEqual([3, 7]);
    held.resolve();
    for (const outcome of await Promise.all(waiting)) expectText(outcome, 'Hello there.');
  });
});
