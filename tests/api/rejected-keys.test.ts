import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { caseOf, imageWireNames } from './images-wires.ts';
import { wireNames } from './lab.ts';

/** @see docs/reference/errors.md#rejected-keys */

const key = 'sk-upstream-secret-1234567890';
let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  const provider = (wire: string, models: object[], more: object = {}) => ({
    id: wire,
    name: `Rejecting ${wire}`,
    wire,
    base_url: upstream.url,
    api_key: key,
    models,
    ...more,
  });
  gateway = await testGateway({
    providers: [
      ...wireNames.map((wire) => provider(wire, [{ model: `acme/${wire}`, upstream_model: 'm' }])),
      provider('ai-sdk', [{ model: 'acme/ai-sdk', upstream_model: 'm' }], { package: '@ai-sdk/openai' }),
      provider('openai-embeddings', [{ model: 'acme/embedding' }, { model: 'acme/rerank' }]),
      ...imageWireNames.map((wire) => {
        const { model: upstream_model, dialect, output } = caseOf(wire);
        const model = { model: `image/${wire}`, upstream_model, ...(output && { capabilities: { output } }) };
        return { ...provider(wire, [model], { dialect }), id: `image-${wire}` };
      }),
      { id: 'simulator', wire: 'simulator', models: [{ model: 'simulator/echo' }] },
    ],
    retry: { attempts: 3 },
  });
});
beforeEach(() => upstream.always(json({ error: { message: `Wrong key ${key}.` } }, { status: 401 })));
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const messages = [{ role: 'user', content: 'Hello' }];
const textModels = [...wireNames, 'ai-sdk'].map((wire) => `acme/${wire}`);
const requests: [string, object][] = [
  ...textModels.flatMap((model) => [false, true].map((stream) => ['/responses', { model, input: 'Hello', stream }])),
  ...[false, true].flatMap((stream) => [
    ['/chat/completions', { model: 'acme/openai-chat', messages, stream }],
    ['/messages', { model: 'acme/anthropic-messages', max_tokens: 9, messages, stream }],
    ['/completions', { model: 'acme/openai-chat', prompt: 'Hello', stream }],
  ]),
  ...imageWireNames.map((wire) => ['/images', { model: `image/${wire}`, prompt: 'A dot.' }]),
  ['/embeddings', { model: 'acme/embedding', input: 'Hello' }],
  ['/rerank', { model: 'acme/rerank', query: 'a', documents: ['a', 'b'] }],
] as [string, object][];

interface Failure {
  error: { message: string; availability?: object; metadata: { error_type: string } };
}

describe('a provider that rejects the key of the gateway', () => {
  it.each(requests)('is named by a 502 that no client retries: %s %o', async (path, body) => {
    const before = upstream.requests.length;
    const response = await gateway.post(path, body);
    const text = await response.text();
    expect(response.status, text).toBe(502);
    const { error } = JSON.parse(text) as Failure;
    expect(error.message).toMatch(/^Rejecting [\w-]+ rejects the key of the gateway \(status 401\)/);
    expect(error.message).toMatch(/ The operator must correct api_key of the provider [\w-]+\.$/);
    expect(error).not.toHaveProperty('availability');
    expect(response.headers.get('x-should-retry')).toBe('false');
    expect(text).not.toContain('1234567890');
    expect(upstream.requests.length - before).toBe(1);
  });

  it.each([401, 403])('with %i is skipped for another endpoint', async (status) => {
    upstream.always(json({ error: { message: 'No.' } }, { status }));
    for (const stream of [false, true]) {
      const models = ['acme/openai-chat', 'simulator/echo'];
      const response = await gateway.post('/responses', { models, input: 'Hello', stream });
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Hello')]);
    }
  });

  it('may be retried if another endpoint was only too busy', async () => {
    upstream.respond(json({ error: { message: 'Busy.' } }, { status: 503 }));
    upstream.respond(json({ error: { message: 'Wrong key.' } }, { status: 401 }));
    const models = ['acme/openai-chat', 'acme/openai-responses'];
    const response = await gateway.post('/responses', { models, input: 'Hello' });
    const { error } = (await response.json()) as Failure;
    expect(error.availability).toMatchObject({ code: 'temporarily_unavailable', retryable: true });
  });

  it('because of the content or the country blames neither the key nor the caller', async () => {
    const ask = async (message: string, code: string) => {
      upstream.always(json({ error: { message, code } }, { status: 403 }));
      const response = await gateway.post('/responses', { model: 'acme/openai-chat', input: 'Hello' });
      return { status: response.status, ...((await response.json()) as Failure) };
    };
    const content = await ask('It violates our content policy.', 'no');
    expect(content).toMatchObject({ status: 400, error: { metadata: { error_type: 'content_policy_violation' } } });
    const country = await ask('Not here.', 'unsupported_country_region_territory');
    expect(country.error.message).toMatch(/^The provider failed \(status 403\)/);
  });
});
