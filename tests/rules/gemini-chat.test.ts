import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, type ScriptedUpstream, startUpstream, type TestGateway, testGateway } from '../../src/testing/index.ts';

let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  upstream.always(
    json({ choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'ok' } }] }),
  );
  gateway = await testGateway({
    providers: [
      { id: 'up', wire: 'openai-chat', base_url: upstream.url, models: [{ model: 'up/*', upstream_model: '*' }] },
    ],
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const parameters = {
  type: 'object',
  properties: { a: { description: 'A.', type: ['string', 'null'], default: null } },
};
const messages = [{ role: 'user', content: 'Hi' }];

interface Sent {
  tools: [{ function: { parameters: object } }];
}
const sent = () => (upstream.requests.at(-1)!.body as Sent).tools[0];

// router-for-me/CLIProxyAPI#5859
describe('a result for Gemini behind chat completions', () => {
  const call = { id: 'toolu_1', name: 'f' };
  it.each([
    [
      '/chat/completions',
      {
        messages: [
          ...messages,
          {
            role: 'assistant',
            tool_calls: [{ id: call.id, type: 'function', function: { name: 'f', arguments: '{}' } }],
          },
          { role: 'tool', tool_call_id: call.id, content: 'x' },
        ],
      },
    ],
    [
      '/messages',
      {
        max_tokens: 50,
        messages: [
          ...messages,
          { role: 'assistant', content: [{ type: 'tool_use', ...call, input: {} }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: 'x' }] },
        ],
      },
    ],
  ])('has the name of its function, by %s', async (path, body) => {
    const result = { role: 'tool', tool_call_id: call.id, content: 'x' };
    const last = () => (upstream.requests.at(-1)!.body as { messages: object[] }).messages.at(-1);
    expect((await gateway.post(path, { model: 'up/google/gemini-3.8-flash', ...body })).status).toBe(200);
    expect(last()).toEqual({ ...result, name: 'f' });
    await gateway.post(path, { model: 'up/llama', ...body });
    expect(last()).toEqual(result);
  });
});

describe('a tool for Gemini behind chat completions', () => {
  // aoci-spec/aoci-code#61, akitaonrails/ai-memory#735
  it.each([
    ['/chat/completions', { messages, tools: [{ type: 'function', function: { name: 'f', parameters } }] }],
    ['/responses', { input: 'Hi', tools: [{ type: 'function', name: 'f', parameters }] }],
    ['/messages', { messages, max_tokens: 50, tools: [{ name: 'f', input_schema: parameters }] }],
  ])('has one type for each schema, by %s', async (path, body) => {
    expect((await gateway.post(path, { model: 'up/google/gemini-3.8-flash', ...body })).status).toBe(200);
    const a = { description: 'A.', type: 'string', nullable: true };
    expect(sent().function.parameters).toEqual({ type: 'object', properties: { a } });
  });

  // github/copilot-sdk#1129
  it('has no field that only its client knows, unlike one for another model', async () => {
    const tools = [{ type: 'function', copilot_mcp_server_name: 'docs', function: { name: 'f', parameters } }];
    const response = await gateway.post('/chat/completions', { model: 'up/gemini-2.5-flash', messages, tools });
    expect(response.headers.get('x-router-dropped-fields')).toContain('tools.f.copilot_mcp_server_name');
    expect(sent()).not.toHaveProperty('copilot_mcp_server_name');
    await gateway.post('/chat/completions', { model: 'up/llama', messages, tools });
    expect(sent()).toHaveProperty('copilot_mcp_server_name');
  });
});
