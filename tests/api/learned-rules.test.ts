import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { json, sse } from '../../src/testing/scripted-responses.ts';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';

let upstream: ScriptedUpstream;
let gateway: TestGateway;
let before: number;
const config = (routing: object = {}) => ({
  routing,
  providers: [
    {
      id: 'acme',
      wire: 'openai-chat',
      base_url: upstream.url,
      models: [{ model: 'acme/*', upstream_model: '*' }],
    },
  ],
});
beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await testGateway(config());
});
beforeEach(() => {
  before = upstream.requests.length;
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const bodies = () => upstream.requests.slice(before).map(({ body }) => body as Record<string, unknown>);
const message = { role: 'assistant', content: 'Hello.' };
const usage = { prompt_tokens: 2, completion_tokens: 1 };
const whole = json({ choices: [{ index: 0, finish_reason: 'stop', message }], usage });
const streamed = sse([{ choices: [{ index: 0, finish_reason: 'stop', delta: message }], usage }], { done: true });

/** A server that refuses parameters in the words of a real one, one after the other. */
const refusing = (...names: string[]) =>
  upstream.always(({ body }: ScriptedRequest) => {
    const sent = body as Record<string, unknown>;
    const refused = names.find((name) => name in sent);
    if (refused === undefined) return sent['stream'] ? streamed : whole;
    const error = { message: `Unsupported parameter: '${refused}' is not supported with this model.`, param: refused };
    return json({ error }, { status: 400 });
  });

const paths = [
  ['/responses', { input: 'Hi' }],
  ['/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }],
  ['/messages', { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 50 }],
] as const;

describe.each([false, true])('a parameter that the provider refuses, streamed: %s', (stream) => {
  it.each(paths)('is left out on %s, once and for the requests after it', async (path, body) => {
    refusing('temperature', 'top_p');
    const model = `acme/${path.slice(1).replace('/', '-')}-${stream}`;
    const ask = () => gateway.post(path, { model, ...body, temperature: 0.5, top_p: 0.9, stream });
    const first = await ask();
    expect(first.status).toBe(200);
    expect(await first.text()).toContain('Hello.');
    expect(first.headers.get('x-router-dropped-fields')).toBe('temperature, top_p');
    expect(bodies().map((sent) => ['temperature' in sent, 'top_p' in sent])).toEqual([
      [true, true],
      [false, true],
      [false, false],
    ]);
    await (await ask()).text();
    expect(bodies()).toHaveLength(4);
  });
});

it('is in the metadata', async () => {
  refusing('top_p');
  const response = await gateway.post(
    '/responses',
    { model: 'acme/shown', input: 'Hi', top_p: 0.7 },
    { headers: { 'x-router-metadata': 'enabled' } },
  );
  const { router_metadata: metadata } = (await response.json()) as { router_metadata: { params: object } };
  expect(metadata.params).toMatchObject({
    dropped_fields: ['top_p'],
    learned: [{ provider: 'acme', model: 'acme/shown', refused: 'top_p' }],
  });
});

it('the limit of the output gets its other name', async () => {
  refusing('max_completion_tokens');
  const response = await gateway.post('/responses', { model: 'acme/limit', input: 'Hi', max_output_tokens: 50 });
  expect(response.status).toBe(200);
  expect(bodies().at(-1)).toMatchObject({ max_tokens: 50 });
});

it.each([
  ['messages', "Unsupported parameter: 'messages'."],
  ['nothing', 'Something is wrong.'],
])('an error that names %s teaches nothing', async (_, text) => {
  upstream.always(json({ error: { message: text } }, { status: 400 }));
  const response = await gateway.post('/responses', { model: 'acme/none', input: 'Hi', top_p: 0.7 });
  expect(response.status).toBe(400);
  expect(bodies()).toHaveLength(1);
});

it('a parameter that is refused again is the error of the request', async () => {
  upstream.always(json({ error: { message: "Unsupported parameter: 'top_p'." } }, { status: 400 }));
  const response = await gateway.post('/responses', { model: 'acme/again', input: 'Hi', top_p: 0.7 });
  expect(response.status).toBe(400);
  expect(bodies()).toHaveLength(2);
});

it('is an error without `routing.learn_rules`', async () => {
  const other = await testGateway(config({ learn_rules: false }));
  refusing('top_p');
  const response = await other.post('/responses', { model: 'acme/off', input: 'Hi', top_p: 0.7 });
  expect(response.status).toBe(400);
  expect(bodies()).toHaveLength(1);
  await other.close();
});

describe('one caller teaches nothing that is not true for the others', () => {
  const ask = (more: object) => gateway.post('/responses', { model: 'acme/shared', input: 'Hi', ...more });

  it('if its request does not have the parameter', async () => {
    upstream.always(json({ error: { message: "Unsupported parameter: 'top_p'." } }, { status: 400 }));
    expect((await ask({})).status).toBe(400);
    expect(bodies()).toHaveLength(1);
    refusing();
    await (await ask({ top_p: 0.5 })).text();
    expect(bodies().at(-1)).toMatchObject({ top_p: 0.5 });
  });

  it('if the request is refused without it as well', async () => {
    upstream.always(json({ error: { message: "Unsupported parameter: 'top_p'." } }, { status: 400 }));
    expect((await ask({ top_p: 0.5 })).status).toBe(400);
    expect(bodies()).toHaveLength(2);
    refusing();
    await (await ask({ top_p: 0.5 })).text();
    expect(bodies().at(-1)).toMatchObject({ top_p: 0.5 });
  });
});
