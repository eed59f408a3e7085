import { afterAll, beforeAll, expect, it } from 'vitest';
import { json, sse } from '../../src/testing/scripted-responses.ts';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';

let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  const server = { wire: 'openai-chat', base_url: upstream.url };
  gateway = await testGateway({
    providers: [
      { ...server, id: 'streams', dialect: { answers: { must_stream: true } }, models: [{ model: 'acme/streams' }] },
      { ...server, id: 'whole', models: [{ model: 'whole/*', upstream_model: '*' }] },
      { ...server, id: 'short', dialect: { output: { max_unstreamed: 1000 } }, models: [{ model: 'acme/short' }] },
    ],
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const usage = { prompt_tokens: 2, completion_tokens: 1 };
const frames = [
  { choices: [{ index: 0, delta: { role: 'assistant', content: 'Hello ' } }] },
  { choices: [{ index: 0, delta: { content: 'there.' } }] },
  { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage },
];

/** A server that refuses what is not streamed, in the words of a real one. */
const asksForStream = ({ body }: ScriptedRequest) => (body as { stream?: boolean }).stream === true;
const streamsOnly = (request: ScriptedRequest) =>
  asksForStream(request)
    ? sse(frames, { done: true })
    : json({ error: { message: 'This model only supports streaming mode.' } }, { status: 400 });

const paths = [
  ['/responses', { input: 'Hi' }],
  ['/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }],
  ['/messages', { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 50 }],
] as const;

it.each(paths)('a model that only streams answers a request of %s that is not streamed', async (path, body) => {
  upstream.always(streamsOnly);
  const response = await gateway.post(path, { model: 'acme/streams', ...body });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toContain('application/json');
  expect(await response.text()).toContain('Hello there.');
  expect(upstream.requests.at(-1)!.headers.accept).toBe('text/event-stream');
});

// https://github.com/cline/cline/issues/550
it.each(paths)('a model without streams answers a request of %s that is streamed', async (path, body) => {
  const message =
    "Unsupported value: 'stream' does not support true with this model. Only the default (false) value is supported.";
  const choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello there.' } }];
  upstream.always(({ body: sent }: ScriptedRequest) =>
    (sent as { stream?: boolean }).stream
      ? json({ error: { message, param: 'stream', code: 'unsupported_value' } }, { status: 400 })
      : json({ choices, usage }),
  );
  for (const tries of [2, 1]) {
    const before = upstream.requests.length;
    const response = await gateway.post(path, { model: `whole${path}`, ...body, stream: true });
    expect([response.status, upstream.requests.length - before]).toEqual([200, tries]);
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    expect(await response.text()).toContain('Hello there.');
  }
});

// https://github.com/musistudio/claude-code-router/issues/948
it.each(paths)('a server that thinks only in streams answers a request of %s without one', async (path, body) => {
  const error = { code: 'invalid_parameter_error', message: 'enable thinking can not be support when `stream=False`.' };
  upstream.always((request) => (asksForStream(request) ? streamsOnly(request) : json({ error }, { status: 400 })));
  const response = await gateway.post(path, { model: `whole/thinks${path}`, ...body });
  expect(response.status).toBe(200);
  expect(await response.text()).toContain('Hello there.');
});

it('a stream that is cut is an error, not a short answer', async () => {
  upstream.always(sse(frames.slice(0, 2)));
  const response = await gateway.post('/responses', { model: 'acme/streams', input: 'Hi' });
  expect(response.status).toBe(502);
});

it.each([
  [1000, false],
  [1001, true],
])('an output of at most %i tokens is streamed: %s', async (limit, isStreamed) => {
  upstream.always(({ body }: ScriptedRequest) =>
    (body as { stream?: boolean }).stream
      ? sse(frames, { done: true })
      : json({ choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hi.' } }], usage }),
  );
  const response = await gateway.post('/responses', { model: 'acme/short', input: 'Hi', max_output_tokens: limit });
  expect(response.status).toBe(200);
  const sent = upstream.requests.at(-1)!.body as { stream?: boolean };
  expect(sent.stream === true).toBe(isStreamed);
});
