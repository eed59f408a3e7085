import { expect, it, onTestFinished } from 'vitest';
import { json, startUpstream, testGateway } from '../../src/testing/index.ts';

const message = { role: 'user', content: expect.stringMatching(/^Call /) };

it.each([
  [['auto', 'none'], 'required', { tools: ['f', 'g'], last: message }, ['a last message of the user']],
  [['auto', 'none'], 'g', { tools: ['g'], last: message }, ['tools', 'a last message of the user']],
  [['auto', 'required'], 'g', { tools: ['g'], last: { content: 'Hi' } }, ['tools', 'tool_choice']],
  [['auto'], 'none', { tools: [], last: { content: 'Hi' } }, ['tool_choice', 'tools']],
])('an endpoint with the choices %j names what it changes for %s', async (values, choice, sent, adapted) => {
  const upstream = await startUpstream();
  const gateway = await testGateway({
    providers: [
      {
        id: 'acme',
        wire: 'openai-chat',
        base_url: upstream.url,
        dialect: { tool_choice: { values } },
        models: [{ model: 'acme/one' }],
      },
    ],
  });
  onTestFinished(async () => {
    await gateway.close();
    await upstream.close();
  });
  upstream.always(
    json({ choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'ok' } }] }),
  );
  const response = await gateway.post(
    '/responses',
    {
      model: 'acme/one',
      input: 'Hi',
      tools: ['f', 'g'].map((name) => ({ type: 'function', name, parameters: { type: 'object', properties: {} } })),
      tool_choice: choice === 'g' ? { type: 'function', name: choice } : choice,
    },
    { headers: { 'x-router-metadata': 'enabled' } },
  );
  const { router_metadata: metadata } = (await response.json()) as {
    router_metadata: { params: { adapted: string[]; dropped_fields?: string[] } };
  };
  const { tools = [], messages } = upstream.requests[0]!.body as {
    tools?: { function: { name: string } }[];
    messages: object[];
  };
  expect(tools.map((tool) => tool.function.name)).toEqual(sent.tools);
  expect(messages.at(-1)).toMatchObject(sent.last);
  expect(metadata.params.adapted).toEqual(adapted);
  const isLost = adapted.includes('a last message of the user');
  expect(metadata.params.dropped_fields?.some((name) => name.startsWith('tool_choice (')) ?? false).toBe(isLost);
});
