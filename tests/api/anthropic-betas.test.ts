import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ScriptedUpstream, startUpstream, type TestGateway, testGateway } from '../../src/testing/index.ts';
import { plainAnswers } from '../rules/plain-answers.ts';
import { openSocket } from './open-socket.ts';

let upstream: ScriptedUpstream;
let gateway: TestGateway;
const wires = ['anthropic-messages', 'openai-chat'] as const;
beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await testGateway({
    providers: [
      ...wires.map((wire) => ({
        id: wire,
        wire,
        base_url: upstream.url,
        models: [{ model: `${wire}/*`, upstream_model: '*' }],
      })),
      {
        id: 'closed',
        wire: 'anthropic-messages',
        base_url: upstream.url,
        dialect: { client_betas: { without: ['a-1'] }, betas: ['own-1'] },
        models: [{ model: 'closed/*', upstream_model: '*' }],
      },
    ],
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const user = { role: 'user', content: 'Hi' };
const bodies: Record<string, object> = {
  '/chat/completions': { messages: [user] },
  '/responses': { input: 'Hi' },
  '/messages': { messages: [user], max_tokens: 9 },
  '/completions': { prompt: 'Hi' },
};

// https://github.com/BerriAI/litellm/issues/9016
describe.each(Object.keys(bodies))('features of Anthropic in a header of %s', (path) => {
  it.each([
    ['anthropic-beta', 'a-1, b-2', 'anthropic-messages', 'a-1,b-2', ''],
    ['x-anthropic-beta', 'a-1', 'anthropic-messages', 'a-1', ''],
    ['anthropic-beta', 'a-1,b-2', 'closed', 'own-1,b-2', 'anthropic-beta (a-1)'],
    ['anthropic-beta', 'a-1,b-2', 'openai-chat', undefined, 'anthropic-beta (a-1, b-2)'],
  ])('%s: %s at %s', async (header, given, provider, sent, dropped) => {
    upstream.always(plainAnswers[provider === 'openai-chat' ? provider : 'anthropic-messages']('ok'));
    const body = { model: `${provider}/claude-opus-5`, ...bodies[path] };
    const response = await gateway.post(path, body, { headers: { [header]: given } });
    expect(response.status).toBe(200);
    const { headers, text } = upstream.requests.at(-1)!;
    expect(headers['anthropic-beta']).toBe(sent);
    expect(text).not.toContain('betas');
    expect(response.headers.get('x-router-dropped-fields') ?? '').toContain(dropped.split(' ')[0]!);
  });
});

it('those of the upgrade apply to each response of a WebSocket', async () => {
  upstream.always(plainAnswers['anthropic-messages']('ok'));
  const socket = await openSocket(`${gateway.baseUrl}/responses`, gateway.key, {
    headers: { 'anthropic-beta': 'a-1, b-2' },
  });
  for (let at = 0; at < 2; at++) {
    await socket.respond({ model: 'anthropic-messages/claude-opus-5', input: 'Hi' });
    expect(upstream.requests.at(-1)!.headers['anthropic-beta']).toBe('a-1,b-2');
  }
  socket.webSocket.close();
});
