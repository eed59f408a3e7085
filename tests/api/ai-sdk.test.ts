import { afterAll, beforeAll, expect, it } from 'vitest';
import { recording } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { ask, type Mode } from './lab.ts';

/** The package of the development dependencies, which speaks `/responses`. */
const entry = { id: 'sdk', name: 'Package', wire: 'ai-sdk', package: '@ai-sdk/openai', models: [{ model: 'sdk/*' }] };
const key = 'sk-upstream-secret-1234567890';
const folder = new URL('../../src/providers/openai-responses/recordings/', import.meta.url);

let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await testGateway({ providers: [{ ...entry, base_url: upstream.url, api_key: key }] });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

it.each<Mode>(['buffered', 'streamed'])('answers through a real package, %s', async (mode) => {
  upstream.always(recording(new URL('text.stream.http', folder)));
  const { status, response } = await ask(gateway, mode, { model: 'sdk/gpt-5-mini', instructions: 'Be brief.' });
  expect(status).toBe(200);
  expect(response).toMatchObject({ status: 'completed', model: 'sdk/gpt-5-mini', output: [{ type: 'message' }] });
  const request = upstream.requests.at(-1)!;
  expect(request).toMatchObject({ path: '/v1/responses', headers: { authorization: `Bearer ${key}` } });
  expect(request.body).toMatchObject({ model: 'gpt-5-mini', stream: true });
});

it.each<Mode>(['buffered', 'streamed'])('calls functions through a real package, %s', async (mode) => {
  upstream.always(recording(new URL('function-call.stream.http', folder)));
  const tools = [{ type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } }];
  const { response } = await ask(gateway, mode, { model: 'sdk/gpt-5-mini', tools });
  expect(response?.output).toContainEqual(expect.objectContaining({ type: 'function_call' }));
});

it.each<Mode>(['buffered', 'streamed'])('keeps the status of a failure, and the key to itself, %s', async (mode) => {
  upstream.always(recording(new URL('rate-limited.http', folder)));
  const limited = await ask(gateway, mode, { model: 'sdk/gpt-5-mini' });
  expect(limited.status).toBe(429);
  upstream.always(recording(new URL('bad-key.http', folder)));
  const refused = await ask(gateway, mode, { model: 'sdk/gpt-5-mini' });
  expect(refused.status).toBe(502);
  expect(refused.text).not.toContain(key);
});

it('reports an unreachable provider', async () => {
  const dead = await testGateway({ providers: [{ ...entry, base_url: 'http://127.0.0.1:9/v1', api_key: key }] });
  expect((await ask(dead, 'buffered', { model: 'sdk/m' })).status).toBe(502);
  await dead.close();
});

it('names the package to install, and where each setting belongs', async () => {
  await expect(testGateway({ providers: [{ ...entry, package: '@ai-sdk/mistral' }] })).rejects.toThrow(
    'npm install @ai-sdk/mistral',
  );
  await expect(testGateway({ providers: [{ ...entry, package: undefined }] })).rejects.toThrow('package');
  await expect(testGateway({ providers: [{ ...entry, wire: 'openai-chat', base_url: upstream.url }] })).rejects.toThrow(
    'is allowed only with the wire ai-sdk',
  );
});
