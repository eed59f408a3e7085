import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { provider, wholeBody, wireNames } from './lab.ts';

/*
 * Tools that a search of the client finds, as Claude Code does it. Source: anthropics/claude-code#32378
 */

let upstream: ScriptedUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await testGateway({ providers: wireNames.map((wire) => provider(wire, 'one', upstream)) });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});
beforeEach(() => {
  upstream.always(({ path }) => {
    if (path.endsWith('/messages')) return json(wholeMessage);
    if (path.includes(':generateContent')) return json(wholeContent);
    return json(wholeBody(path.endsWith('/responses') ? 'openai-responses' : 'openai-chat'));
  });
});

const wholeMessage = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'Hello there.' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 20, output_tokens: 10 },
};
const wholeContent = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Hello there.' }] }, finishReason: 'STOP', index: 0 }],
  usageMetadata: { promptTokenCount: 20, candidatesTokenCount: 10, totalTokenCount: 30 },
};

const schema = { type: 'object', properties: {} };
const search = { name: 'ToolSearch', description: 'Finds tools.', input_schema: schema };
const deferred = (name: string) => ({ name, description: `Does ${name}.`, input_schema: schema, defer_loading: true });
const tools = [search, deferred('list_leads'), deferred('add_note'), { ...search, name: 'last' }];
const reference = { type: 'tool_reference', tool_name: 'add_note' };
const messages = [
  { role: 'user', content: 'Note this.' },
  { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'ToolSearch', input: { query: 'note' } }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [reference] }] },
];

async function send(wire: string, body: object) {
  const full = { model: `${wire}/one`, max_tokens: 100, messages, tools, ...body };
  const response = await gateway.post('/messages', full, { headers: { 'x-router-metadata': 'enabled' } });
  const answer = (await response.json()) as { router_metadata?: { params?: { dropped_fields?: string[] } } };
  const { body: sent } = upstream.requests.at(-1)!;
  return {
    status: response.status,
    answer,
    sent: sent as { tools?: unknown[]; messages: unknown[] },
    text: JSON.stringify(sent),
    dropped: answer.router_metadata?.params?.dropped_fields ?? [],
  };
}

describe('tools that a search of the client finds', () => {
  it('reach a provider of the same format unchanged', async () => {
    const { status, sent } = await send('anthropic-messages', {});
    expect(status).toBe(200);
    expect(sent.tools).toEqual(tools);
    expect(sent.messages.slice(1)).toEqual(messages.slice(1));
  });

  it.each(wireNames.filter((wire) => wire !== 'anthropic-messages'))('are offered on %s once found', async (wire) => {
    const before = await send(wire, { messages: messages.slice(0, 1) });
    expect([before.status, before.dropped]).toEqual([200, []]);
    expect(before.text).not.toMatch(/list_leads|add_note|defer_loading/);

    const after = await send(wire, {});

    expect([after.status, after.dropped]).toEqual([200, []]);
    expect(after.text).toContain('Found the tool add_note.');
    expect(after.text).toContain('Does add_note.');
    expect(after.text).not.toMatch(/list_leads|defer_loading|tool_reference/);
  });

  it('are offered if they were called or chosen', async () => {
    const called = [
      ...messages,
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_2', name: 'list_leads', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_2', content: 'None.' }] },
    ];
    expect((await send('openai-chat', { messages: called })).text).toContain('Does list_leads.');
    const choice = { tool_choice: { type: 'tool', name: 'list_leads' } };
    expect((await send('openai-chat', choice)).text).toContain('Does list_leads.');
  });

  it('keep the paths of the other tools', async () => {
    const marked = { ...search, name: 'last', input_examples: [{ query: 'a' }] };
    const { dropped } = await send('openai-chat', { tools: [...tools.slice(0, 3), marked] });
    expect(dropped).toEqual(['tools[3].input_examples']);
  });

  it.each(wireNames)('are known to the search of the gateway on %s', async (wire) => {
    const gateways = { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' };
    const { status, text } = await send(wire, { tools: [gateways, ...tools] });
    expect(status).toBe(200);
    expect(text).toContain('Does add_note.');
    expect(text).not.toMatch(/Does list_leads|defer_loading/);
  });

  it('cannot be all tools', async () => {
    const { status } = await send('openai-chat', { tools: tools.slice(1, 3) });
    expect(status).toBe(422);
  });
});
