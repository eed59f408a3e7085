import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ScriptedUpstream, startUpstream, type TestGateway, testGateway } from '../../src/testing/index.ts';
import { json } from '../../src/testing/scripted-responses.ts';
import { type AnsweringWire, plainAnswers } from '../rules/plain-answers.ts';
import { ask, chatChunk, provider, stream } from './lab.ts';

/*
 * Clients of LiteLLM return the thinking of Claude as `thinking_blocks` of the message, or as parts of its content:
 * https://docs.litellm.ai/docs/reasoning_content, openai/openai-agents-python#1779.
 */
let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await testGateway({
    providers: [
      provider('anthropic-messages', 'claude', upstream),
      provider('openai-chat', 'plain', upstream),
      provider('openai-chat', 'details', upstream, { dialect: { reasoning_details: true } }),
      provider('openai-chat', 'litellm', upstream, { dialect: { thinking_blocks: true } }),
      provider('openai-chat', 'replays', upstream, { dialect: { replay_reasoning: true } }),
      provider('openai-responses', 'sealed', upstream),
      provider('gemini', 'signed', upstream),
    ],
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'EqoBCkgIARABGAIiQL2UoU0b1OHYi+' };
const hidden = { type: 'thinking', thinking: '', signature: 'EuYBCkQYAiJA' };
const redacted = { type: 'redacted_thinking', data: 'EmwKAhgBEgy3' };
const calls = [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }];
const called = { type: 'tool_use', id: 'call_1', name: 'f', input: {} };

async function send(model: string, assistant: object) {
  const [wire] = model.split('/') as [AnsweringWire];
  upstream.always(plainAnswers[wire]('ok'));
  const response = await gateway.post(
    '/chat/completions',
    {
      model,
      messages: [
        { role: 'user', content: 'Go.' },
        { role: 'assistant', tool_calls: calls, ...assistant },
        { role: 'tool', tool_call_id: 'call_1', content: 'Done.' },
      ],
      tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }],
    },
    { headers: { 'x-router-metadata': 'enabled' } },
  );
  const { router_metadata: metadata } = (await response.json()) as {
    router_metadata?: { params: { dropped_fields?: string[]; ignored_fields?: string[] } };
  };
  expect(response.status).toBe(200);
  const { messages = [] } = upstream.requests.at(-1)!.body as { messages?: object[] };
  return { assistant: messages[1], params: metadata?.params };
}

describe('thinking that a client returns in blocks', () => {
  it.each([
    ['beside a text', { content: 'So.', reasoning_content: 'Hm.', thinking_blocks: [thinking, redacted] }],
    ['in the content', { content: [thinking, redacted, { type: 'text', text: 'So.' }] }],
    [
      'in both',
      { content: [thinking, redacted, { type: 'text', text: 'So.' }], thinking_blocks: [thinking, redacted] },
    ],
  ])('reaches Claude unchanged: %s', async (_place, assistant) => {
    const sent = await send('anthropic-messages/claude', assistant);
    expect(sent.assistant).toEqual({
      role: 'assistant',
      content: [thinking, redacted, { type: 'text', text: 'So.' }, called],
    });
    expect(sent.params ?? {}).toEqual({});
  });

  it('reaches Claude with a signature alone, as newer models have it, and without a text', async () => {
    const sent = await send('anthropic-messages/claude', { content: null, thinking_blocks: [hidden] });
    expect(sent.assistant).toEqual({ role: 'assistant', content: [hidden, called] });
  });

  it('is named if it has no signature, which Claude needs', async () => {
    const sent = await send('anthropic-messages/claude', { thinking_blocks: [{ type: 'thinking', thinking: 'Hm.' }] });
    expect(sent.assistant).toEqual({ role: 'assistant', content: [called] });
    expect(sent.params?.dropped_fields).toEqual(['messages[1].thinking_blocks (reasoning, unsigned)']);
  });

  it('reaches a gateway with its signature, and a server that needs its text', async () => {
    const format = 'anthropic-claude-v1';
    const details = await send('openai-chat/details', { thinking_blocks: [thinking, redacted] });
    expect(details.assistant).toMatchObject({
      reasoning_details: [
        { type: 'reasoning.text', text: 'Hm.', signature: thinking.signature, format },
        { type: 'reasoning.encrypted', data: redacted.data, format },
      ],
    });
    const replayed = await send('openai-chat/replays', { thinking_blocks: [thinking] });
    expect(replayed.assistant).toMatchObject({ reasoning_content: 'Hm.' });
  });

  it.each(['openai-chat/plain', 'openai-responses/sealed', 'gemini/signed'])('is named for %s', async (model) => {
    const { params } = await send(model, { thinking_blocks: [thinking] });
    expect(JSON.stringify(upstream.requests.at(-1)!.body)).not.toContain(thinking.signature);
    expect(params?.dropped_fields?.join()).toContain('messages[1].thinking_blocks');
  });

  it('is named if its kind is unknown, or if it is empty', async () => {
    const blocks = [{ type: 'musing', text: 'Hm.' }, { type: 'thinking', thinking: '' }, thinking];
    const sent = await send('anthropic-messages/claude', { thinking_blocks: blocks });
    expect(sent.assistant).toEqual({ role: 'assistant', content: [thinking, called] });
    expect(sent.params?.ignored_fields).toEqual(['messages[1].thinking_blocks']);
  });

  it('gives way to reasoning_details', async () => {
    const details = [{ type: 'reasoning.text', text: 'Own.', signature: 'sig', format: 'anthropic-claude-v1' }];
    const sent = await send('anthropic-messages/claude', { reasoning_details: details, thinking_blocks: [thinking] });
    const own = { type: 'thinking', thinking: 'Own.', signature: 'sig' };
    expect(sent.assistant).toEqual({ role: 'assistant', content: [own, called] });
  });
});

it('thinking of another provider, which the gateway has sealed for a client of Claude, goes back to its provider', async () => {
  const reasoning = {
    type: 'reasoning',
    id: 'rs_1',
    summary: [{ type: 'summary_text', text: 'Hm.' }],
    encrypted_content: 'gAAA',
  };
  const message = {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'So.', annotations: [] }],
  };
  upstream.respond(
    json({ id: 'resp_1', object: 'response', status: 'completed', model: 'm', output: [reasoning, message] }),
  );
  const body = {
    model: 'openai-responses/sealed',
    max_tokens: 2000,
    thinking: { type: 'enabled', budget_tokens: 1024 },
  };
  const response = await gateway.post('/messages', { ...body, messages: [{ role: 'user', content: 'Go.' }] });
  const { content } = (await response.json()) as { content: { type: string }[] };
  await send('openai-responses/sealed', { thinking_blocks: content.filter(({ type }) => type === 'thinking') });
  const { input } = upstream.requests.at(-1)!.body as { input: object[] };
  expect(input[1]).toMatchObject({ type: 'reasoning', summary: [{ text: 'Hm.' }], encrypted_content: 'gAAA' });
});

describe.each(['buffered', 'streamed'] as const)('thinking of Claude behind LiteLLM, %s,', (mode) => {
  const wire = 'openai-chat' as const;
  const text = 'Hm. So.';
  const whole = {
    role: 'assistant',
    content: null,
    reasoning_content: `${text}Again.`,
    thinking_blocks: [
      { ...thinking, thinking: text },
      redacted,
      { ...thinking, thinking: 'Again.', signature: 'EuY2' },
    ],
    tool_calls: calls,
  };
  const piece = (part: string) => ({
    reasoning_content: part,
    thinking_blocks: [{ type: 'thinking', thinking: part, signature: null }],
  });
  const signed = (part: string, signature: string) => ({
    reasoning_content: '',
    thinking_blocks: [{ type: 'thinking', thinking: part, signature }],
  });
  // https://github.com/open-webui/open-webui/pull/29860: the signed block repeats the text
  const deltas = [
    ...[piece('Hm.'), piece(' So.'), signed(text, thinking.signature), { thinking_blocks: [redacted] }],
    ...[piece('Again.'), signed('', 'EuY2'), { tool_calls: [{ index: 0, ...calls[0]! }] }],
  ];
  const say = () =>
    upstream.respond(
      mode === 'buffered'
        ? json({ choices: [{ index: 0, message: whole, finish_reason: 'tool_calls' }] })
        : stream(wire, [...deltas.map((delta) => chatChunk(delta)), chatChunk({}, 'tool_calls')]),
    );
  const tools = [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }];
  const input = [{ role: 'user', content: 'Go.' }];

  it('is read once, with its signatures, and goes back in the same blocks', async () => {
    say();
    const first = await ask(gateway, mode, { model: `${wire}/litellm`, input, tools });
    const output = first.response!.output;
    expect(output).toMatchObject([
      { type: 'reasoning', content: [{ text }], signature: thinking.signature, format: 'anthropic-claude-v1' },
      { type: 'reasoning', encrypted_content: redacted.data, format: 'anthropic-claude-v1' },
      { type: 'reasoning', content: [{ text: 'Again.' }], signature: 'EuY2' },
      { type: 'function_call', call_id: 'call_1' },
    ]);
    upstream.always(plainAnswers[wire]('ok'));
    const next = [...input, ...output, { type: 'function_call_output', call_id: 'call_1', output: 'Done.' }];
    await ask(gateway, 'buffered', { model: `${wire}/litellm`, input: next, tools });
    const { messages } = upstream.requests.at(-1)!.body as { messages: object[] };
    expect(messages[1]).toEqual({
      role: 'assistant',
      content: null,
      thinking_blocks: whole.thinking_blocks,
      tool_calls: calls,
    });
  });

  it('is the thinking of a client of Claude', async () => {
    say();
    const body = { model: `${wire}/litellm`, max_tokens: 2000, messages: [{ role: 'user', content: 'Go.' }] };
    const response = await gateway.post('/messages', {
      ...body,
      tools: [{ name: 'f', input_schema: { type: 'object' } }],
    });
    const { content } = (await response.json()) as { content: object[] };
    expect(content).toMatchObject([...whole.thinking_blocks, called]);
  });
});

it('blocks that an unsigned model has are its reasoning, once', async () => {
  const message = {
    role: 'assistant',
    content: 'So.',
    thinking_blocks: [{ type: 'thinking', thinking: 'Hm.' }, { type: 'odd' }],
  };
  upstream.respond(json({ choices: [{ index: 0, message, finish_reason: 'stop' }] }));
  const { response } = await ask(
    gateway,
    'buffered',
    { model: 'openai-chat/plain' },
    { headers: { 'x-router-metadata': 'enabled' } },
  );
  expect(response?.output).toMatchObject([{ type: 'reasoning', content: [{ text: 'Hm.' }] }, { type: 'message' }]);
  expect(response?.router_metadata).toMatchObject({
    params: { dropped_upstream_fields: ['message.thinking_blocks[] (odd)'] },
  });
});
