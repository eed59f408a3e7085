import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { ask, provider, type WireName, wholeBody } from './lab.ts';

let upstream: ScriptedUpstream;
let gateway: TestGateway;

const of = (wire: WireName, name: string, model: string) =>
  provider(wire, name, upstream, { models: [{ model, upstream_model: 'm' }] });

beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await testGateway({
    providers: [
      provider('openai-chat', 'alone', upstream),
      of('openai-chat', 'first', 'both/m'),
      of('openai-responses', 'second', 'both/m'),
    ],
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});
beforeEach(() => {
  upstream.always(({ path }) => json(wholeBody(path.endsWith('/responses') ? 'openai-responses' : 'openai-chat')));
});

const search = { type: 'web_search' };
const fn = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } };
const send = (body: object) => ask(gateway, 'buffered', body, { headers: { 'x-router-metadata': 'enabled' } });
const lastPath = () => upstream.requests.at(-1)!.path;

describe('a hosted tool', () => {
  it('is dropped and reported if no endpoint of the model has it', async () => {
    const { status, response } = await send({ model: 'openai-chat/alone', tools: [search, fn] });

    expect(status).toBe(200);
    expect((upstream.requests.at(-1)!.body as { tools: object[] }).tools).toHaveLength(1);
    expect(response).toMatchObject({ router_metadata: { params: { dropped_fields: ['tools[0] (web_search)'] } } });
  });

  it('is a 400 if tool_choice forces it', async () => {
    const before = upstream.requests.length;

    const { status, envelope } = await send({
      model: 'openai-chat/alone',
      tools: [search],
      tool_choice: { type: 'web_search_preview' },
    });

    expect(status).toBe(400);
    expect(envelope?.error.message).toContain('The gateway searches itself if tools.web_search.engines is configured.');
    expect(upstream.requests.length).toBe(before);
  });

  it('chooses an endpoint that has it', async () => {
    for (const order of [
      ['openai-chat-first', 'openai-responses-second'],
      ['openai-responses-second', 'openai-chat-first'],
    ]) {
      await send({ model: 'both/m', tools: [search], provider: { order } });
      expect(lastPath()).toBe('/v1/responses');
    }
    await send({ model: 'both/m', tools: [fn], provider: { order: ['openai-chat-first'] } });
    expect(lastPath()).toBe('/v1/chat/completions');
  });
});
