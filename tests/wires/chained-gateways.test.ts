import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OutputItem } from '../../src/domain/items.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { geminiResponse } from '../clients/gemini-responses.ts';
import { messagesResponse } from '../clients/messages-responses.ts';
import { responsesApiResponse } from '../clients/responses-api-responses.ts';
import type { Turn } from '../clients/turn.ts';

/*
 * A gateway in front of a gateway. A conversation must reach the provider as it does with one gateway: text, calls,
 * images, and reasoning with what signs it, in the same order.
 */
const image =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** The three ways of docs/guides/providers.md#another-headgate. */
const ways = {
  'openai-responses': { gateway: true },
  'openai-chat': { reasoning: 'reasoning', reasoning_details: true, cache_control: true, metadata: true, top_k: true },
  'anthropic-messages': { gateway: true },
} as const;
type Way = keyof typeof ways;

const calls = [
  { name: 'weather', input: { city: 'Bern' } },
  { name: 'weather', input: { city: 'Olten' } },
];
const signed: Turn = { reasoning: 'I need both.', text: 'Let me look.', calls };
const sealed: Turn = { ...signed, encrypted: 'CiQB0e2Kb1Xo9m3sYJ7tVQ+hPz==' };

const providers = {
  'anthropic-messages': { answer: messagesResponse, model: 'claude-sonnet-4-5', first: signed },
  gemini: { answer: geminiResponse, model: 'gemini-3-pro', first: sealed },
  'openai-responses': { answer: responsesApiResponse, model: 'gpt-5-mini', first: sealed },
} as const;
type Provider = keyof typeof providers;

const upstreams = new Map<Provider, ScriptedUpstream>();
const turns = new Map<Provider, Turn[]>();
let inner: TestGateway;
let outer: TestGateway;

beforeAll(async () => {
  const behind: object[] = [];
  for (const [id, { answer, model }] of Object.entries(providers) as [Provider, (typeof providers)[Provider]][]) {
    const upstream = await startUpstream();
    upstream.always((request) => answer(turns.get(id)!.shift()!, request));
    upstreams.set(id, upstream);
    const pricing = { prompt: 0.000001, completion: 0.00001 };
    const models = [{ model: `back/${id}`, upstream_model: model, pricing }];
    behind.push({ id, wire: id, base_url: upstream.url, api_key: 'upstream-key-of-a-test', models });
  }
  inner = await testGateway({ providers: behind });
  const before = Object.entries(ways).map(([wire, dialect]) => {
    const models = Object.keys(providers).map((id) => ({ model: `${wire}/${id}`, upstream_model: `back/${id}` }));
    return { id: wire, wire, base_url: inner.baseUrl, api_key: inner.key, dialect, models };
  });
  outer = await testGateway({ providers: before });
});
afterAll(async () => {
  await outer.close();
  await inner.close();
  for (const upstream of upstreams.values()) await upstream.close();
});

type Body = Record<string, unknown>;
type Ask = (body: Body) => Promise<Body>;

/** Sends a request, and the model's turn back with the results of its calls, in the format of each client. */
const clients = {
  async responses(ask: Ask) {
    const tools = [{ type: 'function', name: 'weather', parameters: { type: 'object' } }];
    const content = [
      { type: 'input_text', text: 'Weather?' },
      { type: 'input_image', image_url: image },
    ];
    const input: unknown[] = [{ role: 'user', content }];
    const settings = { tools, reasoning: { effort: 'high' }, include: ['reasoning.encrypted_content'] };
    const first = await ask({ ...settings, input });
    const output = first['output'] as OutputItem[];
    const results = output.flatMap(({ type, call_id: id }) =>
      type === 'function_call' ? [{ type: 'function_call_output', call_id: id, output: 'sunny' }] : [],
    );
    await ask({ ...settings, input: [...input, ...output, ...results] });
  },
  async 'chat/completions'(ask: Ask) {
    const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }];
    const content = [
      { type: 'text', text: 'Weather?' },
      { type: 'image_url', image_url: { url: image } },
    ];
    const messages: unknown[] = [{ role: 'user', content }];
    const settings = { tools, reasoning_effort: 'high' };
    const first = await ask({ ...settings, messages });
    const [{ message }] = first['choices'] as [{ message: { tool_calls: { id: string }[] } }];
    const results = message.tool_calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'sunny' }));
    await ask({ ...settings, messages: [...messages, message, ...results] });
  },
  async messages(ask: Ask) {
    const tools = [{ name: 'weather', input_schema: { type: 'object' } }];
    const source = { type: 'base64', media_type: 'image/png', data: image.split(',')[1] };
    const content = [
      { type: 'text', text: 'Weather?' },
      { type: 'image', source },
    ];
    const messages: unknown[] = [{ role: 'user', content }];
    const settings = { tools, max_tokens: 9000, thinking: { type: 'enabled', budget_tokens: 4000 } };
    const first = await ask({ ...settings, messages });
    const blocks = first['content'] as { type: string; id: string }[];
    const results = blocks.flatMap(({ type, id }) =>
      type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: id, content: 'sunny' }] : [],
    );
    messages.push({ role: 'assistant', content: blocks }, { role: 'user', content: results });
    await ask({ ...settings, messages });
  },
};

/** Ids differ between conversations. Parts without text, and marks of the format, are not part of the conversation. */
const ownFields = new Set(['id', 'call_id', 'tool_use_id', 'status', 'annotations', 'logprobs', 'detail']);
const readConversation = (body: unknown): unknown => {
  const { messages, contents, input } = body as Body;
  const keep = (key: string, value: unknown): unknown => (ownFields.has(key) ? undefined : value);
  return JSON.parse(JSON.stringify(messages ?? contents ?? input, keep));
};

/** Runs a conversation of two requests. @returns the conversation that the provider got with the second one */
async function converse(client: keyof typeof clients, provider: Provider, way?: Way): Promise<unknown> {
  turns.set(provider, [providers[provider].first, { text: 'Sunny.' }]);
  const [gateway, model] = way ? [outer, `${way}/${provider}`] : [inner, `back/${provider}`];
  await clients[client](async (body) => {
    const response = await gateway.post(`/${client}`, { ...body, model });
    const text = await response.text();
    expect(response.status, text).toBe(200);
    return JSON.parse(text) as Body;
  });
  return readConversation(upstreams.get(provider)!.requests.at(-1)!.body);
}

/** A message of one text is a text or a list in this format. */
const flatten = (items: unknown): unknown =>
  (items as Body[]).map(({ content, type = 'message', ...item }) => ({
    ...item,
    type,
    ...(content !== undefined && { content: typeof content === 'string' ? content : readTexts(content as Body[]) }),
  }));
const readTexts = (parts: Body[]): unknown =>
  parts.length === 1 && typeof parts[0]!['text'] === 'string' ? parts[0]!['text'] : parts;

it('a message has the cost that the gateway behind it reports, where the first one has no price', async () => {
  turns.set('openai-responses', [{ text: 'Hi.' }]);
  const model = 'anthropic-messages/openai-responses';
  const response = await outer.post('/messages', {
    model,
    max_tokens: 100,
    messages: [{ role: 'user', content: 'Hi' }],
  });
  const { usage } = (await response.json()) as { usage: object };
  expect(usage).toMatchObject({ cost: 0.00042, cost_details: { upstream_inference_cost: 0.00042 } });
});

describe.each(Object.keys(clients) as (keyof typeof clients)[])('a conversation of POST /%s', (client) => {
  it.each(Object.keys(providers) as Provider[])('reaches %s through two gateways as through one', async (provider) => {
    const direct = await converse(client, provider);
    const read = provider === 'openai-responses' ? flatten : (given: unknown) => given;

    for (const way of Object.keys(ways) as Way[])
      expect(read(await converse(client, provider, way)), way).toEqual(read(direct));
  });
});
