import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, type ScriptedResponse, sse } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';

let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  const servers = [
    ['lmstudio', 'openai-chat'],
    ['llamacpp', 'openai-chat'],
    ['vllm', 'openai-responses'],
    ['ollama', 'anthropic-messages'],
    ['anthropic', 'anthropic-messages'],
    ['mistral', 'openai-chat'],
  ] as const;
  gateway = await testGateway({
    providers: servers.map(([id, wire]) => ({
      id,
      wire,
      base_url: upstream.url,
      api_key: 'k',
      models: [{ model: `${id}/*`, upstream_model: '*' }],
    })),
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

// biome-ignore lint/suspicious/noExplicitAny: the bodies of three wires
type Sent = any;
const refuse = (message: string): ScriptedResponse => json({ error: { message } }, { status: 500 });
const message = { role: 'assistant', content: 'Hello.' };
const chat = (stream: boolean): ScriptedResponse => {
  const choice = { index: 0, finish_reason: 'stop' };
  return stream
    ? sse([{ choices: [{ ...choice, delta: message }] }], { done: true })
    : json({ choices: [{ ...choice, message }] });
};
const output = [
  {
    type: 'message',
    id: 'm',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'Hello.' }],
  },
];
const done = { id: 'r', object: 'response', status: 'completed', model: 'm', output };
const responses = (stream: boolean): ScriptedResponse =>
  stream
    ? sse(
        [
          { type: 'response.output_item.done', output_index: 0, item: output[0] },
          { type: 'response.completed', response: done },
        ],
        { named: true },
      )
    : json(done);
const block = { type: 'text', text: 'Hello.' };
const messages = (stream: boolean): ScriptedResponse =>
  stream
    ? sse(
        [
          { type: 'message_start', message: { type: 'message', role: 'assistant', content: [], usage: {} } },
          { type: 'content_block_start', index: 0, content_block: block },
          { type: 'content_block_stop', index: 0 },
          { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
          { type: 'message_stop' },
        ],
        { named: true },
      )
    : json({ type: 'message', role: 'assistant', content: [block], stop_reason: 'end_turn' });

/** Answers once `complain` has nothing to say. */
const serve = (answer: (stream: boolean) => ScriptedResponse, complain: (sent: Sent) => string | undefined): void =>
  upstream.always(({ body }) => {
    const complaint = complain(body);
    return complaint === undefined ? answer((body as Sent).stream === true) : refuse(complaint);
  });

const user = { role: 'user', content: 'Hi' };

describe.each([false, true])('streamed: %s', (stream) => {
  // https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2203
  it.each([
    undefined,
    null,
    {},
    { type: 'object' },
  ])('LM Studio gets the properties of a tool with the parameters %j', async (parameters) => {
    serve(chat, ({ tools }) => (tools[0].function.parameters?.properties ? undefined : 'properties: Required'));
    const tools = [{ type: 'function', function: { name: 'submit', ...(parameters !== undefined && { parameters }) } }];
    const body = { model: 'lmstudio/qwen3', messages: [user], tools, stream };
    expect((await gateway.post('/chat/completions', body)).status).toBe(200);
    const flat = [{ type: 'function', name: 'submit', ...(parameters !== undefined && { parameters }) }];
    expect(
      (await gateway.post('/responses', { model: 'lmstudio/qwen3', input: 'Hi', tools: flat, stream })).status,
    ).toBe(200);
  });

  // https://github.com/abdulmominsakib/localmind/pull/11
  it.each(['', ' \n'])('llama.cpp gets no last message of the assistant with the text %j', async (content) => {
    serve(chat, ({ messages: sent }) => (sent.at(-1).role === 'assistant' ? 'prefill' : undefined));
    const sent = [user, { role: 'assistant', content }];
    expect((await gateway.post('/chat/completions', { model: 'llamacpp/qwen3', messages: sent, stream })).status).toBe(
      200,
    );
    const body = { model: 'llamacpp/qwen3', max_tokens: 9, messages: sent, stream };
    expect((await gateway.post('/messages', body)).status).toBe(200);
  });

  // https://github.com/vllm-project/vllm/issues/25108
  it('Llama 3 gets each of two parallel calls in a message of its own', async () => {
    serve(chat, ({ messages: sent }) =>
      sent.some(({ tool_calls: calls }: Sent) => calls?.length > 1)
        ? 'This model only supports single tool-calls at once!'
        : undefined,
    );
    const function_ = { name: 'find', arguments: '{}' };
    const sent = [
      user,
      {
        role: 'assistant',
        content: null,
        tool_calls: ['a', 'b'].map((id) => ({ id, type: 'function', function: function_ })),
      },
      ...['b', 'a'].map((id) => ({ role: 'tool', tool_call_id: id, content: id })),
    ];
    const body = { model: 'llamacpp/Llama-3.3-70B-Instruct-Q4_K_M.gguf', messages: sent, stream };
    expect((await gateway.post('/chat/completions', body)).status).toBe(200);
    expect(upstream.requests.at(-1)!.body).toMatchObject({
      messages: [
        user,
        { tool_calls: [{ id: 'a' }] },
        { tool_call_id: 'a', content: 'a' },
        { tool_calls: [{ id: 'b' }] },
        { tool_call_id: 'b', content: 'b' },
      ],
    });
  });

  // https://github.com/vllm-project/vllm/issues/45273
  it('vLLM gets no empty message and no malformed arguments of Codex', async () => {
    serve(responses, ({ input }) => {
      for (const { role, content, arguments: given } of input) {
        if (role === 'assistant' && content.length === 0) return 'list index out of range';
        if (given !== undefined) JSON.parse(given);
      }
      return undefined;
    });
    const input = [
      user,
      { type: 'message', role: 'assistant', content: [] },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{"a":1}{' },
      { type: 'function_call_output', call_id: 'c', output: 'Wrong.' },
    ];
    expect((await gateway.post('/responses', { model: 'vllm/glm-5.1', input, stream })).status).toBe(200);
  });

  // https://github.com/ollama/ollama/issues/16372
  it('Ollama gets no system message of Claude Code within the conversation, and no text for billing', async () => {
    serve(messages, ({ messages: sent, system }) =>
      sent.some(({ role }: Sent) => role === 'system') || JSON.stringify(system).includes('billing')
        ? 'refused'
        : undefined,
    );
    const body = {
      max_tokens: 9,
      stream,
      system: [
        { type: 'text', text: 'x-anthropic-billing-header: cc_version=2;' },
        { type: 'text', text: 'Be brief.' },
      ],
      messages: [user, { role: 'system', content: 'Be kind.' }, user],
    };
    const response = await gateway.post('/messages', { ...body, model: 'ollama/qwen3.6' });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-router-dropped-fields')).toBe('system');
    expect(upstream.requests.at(-1)!.text).toContain('Be kind.');

    upstream.always(messages(stream));
    expect((await gateway.post('/messages', { ...body, model: 'anthropic/claude-opus-5' })).status).toBe(200);
    expect(upstream.requests.at(-1)!.body).toMatchObject({
      system: [{ text: expect.stringContaining('billing') }, {}],
    });
  });

  // https://github.com/Wei-Shaw/sub2api/issues/1308
  it('Claude gets no search that another provider has run', async () => {
    serve(messages, ({ messages: sent }) =>
      sent.some(({ content }: Sent) =>
        content.some(({ id = 'srvtoolu_1', type }: Sent) => type === 'server_tool_use' && !id.startsWith('srvtoolu_')),
      )
        ? "server_tool_use.id: String should match pattern '^srvtoolu_[a-zA-Z0-9_]+$'"
        : undefined,
    );
    const search = (id: string) => [
      { type: 'server_tool_use', id, name: 'web_search', input: { query: 'q' } },
      { type: 'web_search_tool_result', tool_use_id: id, content: [] },
    ];
    const content = [...search('call_1'), { type: 'text', text: 'Found.' }, ...search('srvtoolu_1')];
    const body = { model: 'anthropic/claude-opus-5', max_tokens: 9, stream };
    const response = await gateway.post('/messages', {
      ...body,
      messages: [user, { role: 'assistant', content }, user],
    });
    expect(response.status).toBe(200);
    expect(upstream.requests.at(-1)!.body).toMatchObject({
      messages: [{}, { content: [{ text: 'Found.' }, { id: 'srvtoolu_1' }, {}] }, {}],
    });
  });

  // https://github.com/mistralai/mistral-vibe/issues/1119
  it('thinking that Mistral sends twice is there once', async () => {
    const said = {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
        { type: 'text', text: 'Hello.' },
      ],
      reasoning: 'Hm.',
    };
    const choice = { index: 0, finish_reason: 'stop' };
    upstream.always(
      stream
        ? sse([{ choices: [{ ...choice, delta: said }] }], { done: true })
        : json({ choices: [{ ...choice, message: said }] }),
    );
    const text = await (
      await gateway.post('/chat/completions', { model: 'mistral/zai-glm-5-3', messages: [user], stream })
    ).text();
    expect(text).toContain('"reasoning":"Hm."');
    expect(text.match(/Hm\./g)).toHaveLength(2); // in `reasoning` and in `reasoning_details`
  });
});
