import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ScriptedUpstream, startUpstream, type TestGateway, testGateway } from '../../src/testing/index.ts';
import { plainAnswers } from '../rules/plain-answers.ts';

/*
 * The cache of xAI belongs to a server, and a request reaches the same server if it names its conversation:
 * chenyme/grok2api#631, https://docs.x.ai/developers/advanced-api-usage/prompt-caching/maximizing-cache-hits
 */

const session = '0f9c3a52-5b4e-4a51-9b2d-3a8e1f0c7d21';
let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  const server = (id: string, wire: string, same_as: string) => ({
    id,
    same_as,
    wire,
    base_url: upstream.url,
    api_key: 'sk-test',
    models: [{ model: `${id}/*`, upstream_model: '*' }],
  });
  gateway = await testGateway({
    providers: [
      server('responses', 'openai-responses', 'xai'),
      server('chat', 'openai-chat', 'xai'),
      server('other', 'openai-responses', 'openai'),
    ],
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const messages = [{ role: 'user', content: 'Hi' }];
const claudeCode = { max_tokens: 100, messages };
const requests: [string, string, object, Record<string, string>?][] = [
  ['/responses', 'its field', { input: 'Hi', session_id: session }],
  ['/chat/completions', 'the header of OpenCode', { messages }, { 'x-opencode-session': session }],
  ['/messages', 'the header of Claude Code', claudeCode, { 'x-claude-code-session-id': session }],
  ['/messages', 'an older Claude Code', { ...claudeCode, metadata: { user_id: `user_1_account__session_${session}` } }],
  [
    '/messages',
    'Claude Code without a header',
    { ...claudeCode, metadata: { user_id: JSON.stringify({ device_id: 'd', account_uuid: '', session_id: session }) } },
  ],
];

async function send(model: string, path: string, body: object, headers: Record<string, string> = {}) {
  upstream.always(plainAnswers[model.startsWith('chat') ? 'openai-chat' : 'openai-responses']('ok'));
  const response = await gateway.post(path, { model, ...body }, { headers });
  expect({ status: response.status, text: await response.text() }).toMatchObject({ status: 200 });
  const { body: sent, headers: given } = upstream.requests.at(-1)!;
  return { key: (sent as { prompt_cache_key?: string }).prompt_cache_key, header: given['x-grok-conv-id'] };
}

describe.each(requests)('a session of %s in %s', (path, _place, body, headers) => {
  it('is named to xAI by the same hash in both formats, and to no other provider', async () => {
    const { key } = await send('responses/grok-4.6', path, body, headers);
    expect(key).toMatch(/^hg_[\da-f]{40}$/);
    expect((await send('chat/grok-4.6', path, body, headers)).header).toBe(key);
    expect((await send('responses/grok-4.6', '/responses', { input: 'Hi', session_id: session })).key).toBe(key);
    expect(await send('other/gpt-5.6', path, body, headers)).toEqual({ key: undefined, header: undefined });
  });
});

it('a key of the client is sent as it is, and a request without a session has none', async () => {
  const body = { input: 'Hi', session_id: session, prompt_cache_key: 'mine' };
  expect((await send('responses/grok-4.6', '/responses', body)).key).toBe('mine');
  expect(await send('responses/grok-4.6', '/responses', { input: 'Hi' })).toEqual({
    key: undefined,
    header: undefined,
  });
});
