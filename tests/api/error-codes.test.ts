import { OpenRouter } from '@openrouter/sdk';
import {
  BadRequestResponseError,
  NotFoundResponseError,
  UnauthorizedResponseError,
} from '@openrouter/sdk/models/errors';
import OpenAI, { APIError } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, sse } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway, testKeys } from '../../src/testing/test-gateway.ts';
import { providerKey } from './lab.ts';
import { openRaw } from './raw-client.ts';

let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await testGateway({
    providers: [
      {
        id: 'acme',
        wire: 'openai-chat',
        base_url: upstream.url,
        api_key: providerKey,
        models: [{ model: 'acme/one', context_length: 8192 }],
      },
    ],
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

interface ErrorBody {
  error: { code: unknown; message: unknown; type: unknown; param: unknown; metadata: { error_type: string } };
}

const messages = [{ role: 'user' as const, content: 'Hi' }];
const bodies = [
  ['/chat/completions', { messages }],
  ['/completions', { prompt: 'Hi' }],
  ['/embeddings', { input: 'Hi' }],
] as const;

const readError = async (response: Response): Promise<ErrorBody['error']> => {
  const { error } = (await response.json()) as ErrorBody;
  // OpenAI's schema of errors requires these four.
  expect(error).toMatchObject({ message: expect.any(String), type: error.metadata.error_type });
  expect(error).toHaveProperty('param');
  return error;
};

describe.each(bodies)('error codes of OpenAI on %s', (path, body) => {
  const ask = (more: object, options?: object) => gateway.post(path, { model: 'acme/one', ...body, ...more }, options);

  it('are texts', async () => {
    expect(await readError(await ask({}, { key: 'no-such-key-anywhere' }))).toMatchObject({ code: 'invalid_api_key' });
    expect(await readError(await ask({ model: 'no/body' }))).toMatchObject({ code: 'model_not_found' });
    expect(await readError(await ask({ user: 5 }))).toMatchObject({ code: 'invalid_request', param: 'user' });
    expect(await readError(await gateway.get(path))).toMatchObject({ code: 'method_not_supported', param: null });
  });

  it('are the status for clients of OpenRouter', async () => {
    const headers = { 'user-agent': 'speakeasy-sdk/python 0.1.0 2.9.0 1.0.0 openrouter' };
    expect(await readError(await ask({ model: 'no/body' }, { headers }))).toMatchObject({ code: 400 });
  });
});

describe('error codes of OpenAI', () => {
  it.each([
    ['/models/no/body', 'model_not_found'],
    ['/nothing', 'not_found'],
    ['/assistants/%zz', 'invalid_request'],
  ])('are texts on %s', async (path, code) => {
    expect(await readError(await gateway.get(path))).toMatchObject({ code });
  });

  it('are texts in a response to a request that is no HTTP', async () => {
    const raw = openRaw(gateway);
    const ended = new Promise((resolve) => raw.socket.on('close', resolve));
    raw.socket.write('NO HTTP\r\n\r\n');
    await ended;
    expect(raw.text).toContain('"error":{"code":"invalid_request"');
  });

  it.each(['/responses', '/images', '/keys'])('are the status on %s', async (path) => {
    const response = await gateway.post(path, {}, { key: path === '/keys' ? testKeys.managementKey : testKeys.key });
    expect(await readError(response)).toMatchObject({ code: 400 });
    expect(await readError(await gateway.post(path, {}, { key: null }))).toMatchObject({ code: 401, param: null });
  });

  it('name an input that is too long, a rate limit and a failure', async () => {
    const long = [{ role: 'user', content: 'word '.repeat(20_000) }];
    const ask = (more: object) => gateway.post('/chat/completions', { model: 'acme/one', messages, ...more });
    expect(await readError(await ask({ messages: long }))).toMatchObject({ code: 'context_length_exceeded' });
    upstream.always(() => json({ error: { message: 'Slow down.' } }, { status: 429 }));
    expect(await readError(await ask({}))).toMatchObject({ code: 'rate_limit_exceeded' });
    upstream.always(() => json({ error: { message: 'Oops.' } }, { status: 500 }));
    expect(await readError(await ask({}))).toMatchObject({ code: 'provider_unavailable' });
  });
});

describe('errors in clients', () => {
  const openai = () => new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.key, maxRetries: 0 });
  const openrouter = (apiKey = gateway.key) =>
    new OpenRouter({ serverURL: gateway.baseUrl, apiKey, retryConfig: { strategy: 'none' } });
  const chatRequest = { model: 'no/body', messages };

  it('of OpenAI have the code, the type and the field', async () => {
    const error = await openai()
      .chat.completions.create({ model: 'no/body', messages })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ status: 400, code: 'model_not_found', type: 'invalid_request', param: null });
  });

  it('of OpenRouter have their classes', async () => {
    await expect(openrouter().chat.send({ chatRequest })).rejects.toBeInstanceOf(BadRequestResponseError);
    await expect(openrouter('no-such-key-anywhere').chat.send({ chatRequest })).rejects.toBeInstanceOf(
      UnauthorizedResponseError,
    );
    await expect(openrouter().models.get({ author: 'no', slug: 'body' })).rejects.toBeInstanceOf(NotFoundResponseError);
  });

  it.each([
    [{}, 'provider_unavailable'],
    [{ 'user-agent': 'speakeasy-sdk/go 1.0.0 openrouter' }, 502],
  ])('of a stream that breaks off have the same code with %j', async (headers, code) => {
    upstream.always(() => sse([{ choices: [{ index: 0, delta: { content: 'One' } }] }]));
    const response = await gateway.post(
      '/chat/completions',
      { model: 'acme/one', messages, stream: true },
      { headers: headers as Record<string, string> },
    );
    const [, alone] = /^event: error\ndata: (.*)$/m.exec(await response.text())!;
    expect(JSON.parse(alone!)).toMatchObject({ error: { code, type: 'provider_unavailable', param: null } });
  });
});
