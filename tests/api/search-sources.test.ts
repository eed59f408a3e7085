import { afterAll, beforeAll, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { provider, responseObject, wholeBody } from './lab.ts';

/** The sources of a search that the provider runs: https://github.com/BerriAI/litellm/pull/26107. */

let upstream: ScriptedUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await testGateway({
    providers: [
      provider('openai-responses', 'lists', upstream, { dialect: { search_sources: true } }),
      provider('openai-responses', 'plain', upstream),
    ],
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }];
const message = { messages: [{ role: 'user', content: 'Who won?' }], max_tokens: 100 };
const included = () => (upstream.requests.at(-1)!.body as { include?: string[] }).include;

async function ask(model: string, body: object, path = '/messages') {
  const sources = [{ type: 'url', url: 'https://a.example/1' }];
  const action = { type: 'search', query: 'winner', sources };
  const search = { type: 'web_search_call', id: 'ws_1', status: 'completed', action };
  const { output } = wholeBody('openai-responses') as { output: object[] };
  upstream.respond(json(responseObject('completed', [search, ...output])));
  const response = await gateway.post(path, { model: `openai-responses/${model}`, ...body });
  expect(response.status).toBe(200);
  return (await response.json()) as { content: { type: string; content?: object[] }[] };
}

it('are requested for a client of messages, and are the results of the search', async () => {
  const { content } = await ask('lists', { ...message, tools });
  expect(included()).toContain('web_search_call.action.sources');
  const result = content.find(({ type }) => type === 'web_search_tool_result');
  expect(result!.content).toMatchObject([
    { type: 'web_search_result', url: 'https://a.example/1', title: 'https://a.example/1' },
  ]);
});

it('are requested once', async () => {
  const include = ['web_search_call.action.sources'];
  await ask('lists', { input: 'Who won?', tools: [{ type: 'web_search' }], include }, '/responses');
  expect(included()).toEqual(include);
});

it.each([
  ['without a search', 'lists', message, '/messages'],
  ['from another server', 'plain', { ...message, tools }, '/messages'],
  ['for a client that has a setting', 'lists', { input: 'Who won?', tools: [{ type: 'web_search' }] }, '/responses'],
])('are not requested %s', async (_, model, body, path) => {
  await ask(model, body, path);
  expect(included() ?? []).not.toContain('web_search_call.action.sources');
});
