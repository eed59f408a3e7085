import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { ask, provider, wholeBody } from './lab.ts';

let upstream: ScriptedUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startUpstream();
  upstream.always(() => json(wholeBody('openai-chat')));
  gateway = await testGateway({ providers: [provider('openai-chat', 'one', upstream)] });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const idsOf = async (path: string, at = gateway): Promise<string[]> => {
  const { data } = (await (await at.get(path)).json()) as { data: { id?: string; slug?: string }[] };
  return data.map(({ id, slug }) => id ?? slug ?? '');
};

describe('beside another provider the simulator', () => {
  it.each(['buffered', 'streamed'] as const)('responds to a request that names it, %s', async (mode) => {
    const outcome = await ask(gateway, mode, { model: 'simulator/echo', input: 'Hello there' });

    expect(outcome.response).toMatchObject({ output: [{ content: [{ text: 'Hello there' }] }], usage: { cost: 0 } });
  });

  it('generates an image', async () => {
    const response = await gateway.post('/images', { model: 'simulator/image', prompt: 'A fox' });

    expect(response.status).toBe(200);
  });

  it('is in no list', async () => {
    expect(await idsOf('/models')).not.toContain('simulator/echo');
    expect(await idsOf('/models')).toContain('openai-chat/one');
    expect(await idsOf('/providers')).toEqual(['openai-chat-one']);
  });

  it('is chosen by no router, even if only a wildcard is beside it', async () => {
    const wild = await testGateway({
      providers: [provider('openai-chat', 'any', upstream, { models: [{ model: 'any/*' }] })],
    });

    for (const model of ['router/auto', 'router/free']) {
      const { status } = await wild.post('/responses', { model, input: 'Hello' });
      expect(status).toBeGreaterThanOrEqual(400);
    }
    await wild.close();
  });

  it('is no fallback of a model that it does not have', async () => {
    upstream.respond(json({ error: { message: 'down' } }, { status: 503 }));

    const outcome = await ask(gateway, 'buffered', { model: 'openai-chat/one' });

    expect(outcome.status).toBe(529);
  });

  it('has only its own models', async () => {
    expect((await gateway.post('/responses', { model: 'simulator/unknown', input: 'a' })).status).toBe(400);
  });

  it('leaves a model to a provider that has it', async () => {
    const models = [{ model: 'simulator/echo', upstream_model: 'm' }];
    const other = await testGateway({ providers: [provider('openai-chat', 'one', upstream, { models })] });
    const before = upstream.requests.length;

    await ask(other, 'buffered', { model: 'simulator/echo' });

    expect(upstream.requests.length).toBe(before + 1);
    expect(await idsOf('/models', other)).toContain('simulator/echo');
    await other.close();
  });

  it('is listed if it is configured', async () => {
    const configured = { id: 'simulator', wire: 'simulator', models: [{ model: 'simulator/*' }] };
    const both = await testGateway({ providers: [provider('openai-chat', 'one', upstream), configured] });

    expect(await idsOf('/models', both)).toContain('simulator/echo');
    await both.close();
  });
});

it.each([[], [1]])('catalog.simulator: false turns it off, beside %j providers', async (...others) => {
  const off = await testGateway({
    catalog: { simulator: false },
    providers: others.map(() => provider('openai-chat', 'one', upstream)),
  });

  expect((await off.post('/responses', { model: 'simulator/echo', input: 'Hello' })).status).toBeGreaterThanOrEqual(
    400,
  );
  expect(await idsOf('/providers', off)).not.toContain('simulator');
  await off.close();
});
