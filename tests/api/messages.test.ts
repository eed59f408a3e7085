import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, type ScriptedResponse, sse } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';

let upstream: ScriptedUpstream;
let gateway: TestGateway;

const claude = 'anthropic/claude-sonnet-4.5';
const gpt = 'openai/gpt-5-mini';
const native = 'openai/gpt-5-mini-native';
const hello = { model: 'simulator/echo', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] };

beforeAll(async () => {
  upstream = await startUpstream();
  const base = { base_url: upstream.url, api_key: 'upstream-key-of-a-test' };
  gateway = await testGateway({
    providers: [
      {
        id: 'claude',
        wire: 'anthropic-messages',
        ...base,
        models: ['claude-sonnet-4-5', 'claude-opus-4-6', 'claude-opus-4-7'].map((name) => ({
          model: `anthropic/${name.replace(/-(\d)-(\d)/, '-$1.$2')}`,
          upstream_model: name,
        })),
      },
      { id: 'gpt', wire: 'openai-chat', ...base, models: [{ model: gpt, upstream_model: 'gpt-5-mini' }] },
      { id: 'native', wire: 'openai-responses', ...base, models: [{ model: native, upstream_model: 'gpt-5-mini' }] },
      { id: 'simulator', wire: 'simulator', models: [{ model: 'simulator/echo' }] },
    ],
    server: { keep_alive_comment_ms: 20 },
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const answer = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-5',
  content: [{ type: 'text', text: 'Hi' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 3, output_tokens: 1 },
};
const completion = {
  model: 'gpt-5-mini',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
};

/** Names of Anthropic without the author, as Claude Code sends them: arniesaha/agentweave#119. */
describe('a model without its author', () => {
  it('is one of Anthropic', async () => {
    queue(json(answer));
    const response = await gateway.post('/messages', { ...hello, model: 'claude-opus-4.7' });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ model: 'anthropic/claude-opus-4.7' });
    expect((await gateway.post('/messages', { ...hello, model: 'claude-none' })).status).toBe(400);
    const headers = { 'anthropic-version': '2023-06-01' };
    const found = await gateway.get('/models/claude-opus-4.7', { headers });
    expect(await found.json()).toMatchObject({ type: 'model', id: 'anthropic/claude-opus-4.7' });
  });

  it('is no other one elsewhere', async () => {
    const response = await gateway.post('/chat/completions', {
      model: 'claude-opus-4.7',
      messages: [{ role: 'user', content: 'Hello' }],
    });
    expect(response.status).toBe(400);
  });
});

/** Queues the responses of the provider. */
const queue = (...responses: ScriptedResponse[]): void => {
  for (const response of responses) upstream.respond(response);
};

/** Sends a body, and returns the response with its JSON. */
async function post(body: unknown, options: Parameters<TestGateway['post']>[2] = {}) {
  const response = await gateway.post('/messages', body, options);
  return { response, status: response.status, body: (await response.json()) as Record<string, never> };
}

// https://github.com/experientiallabs/experiential/pull/905
it('takes thinking without a budget, which other servers of the format take', async () => {
  const thinking = { type: 'enabled' };
  queue(json(completion));
  expect((await post({ ...hello, model: gpt, thinking })).status).toBe(200);
  expect(upstream.requests.at(-1)!.body).toMatchObject({ reasoning_effort: 'medium' });
  queue(json(answer));
  expect((await post({ ...hello, model: claude, thinking })).status).toBe(200);
  expect(upstream.requests.at(-1)!.body).toMatchObject({ thinking });
});

// https://github.com/vllm-project/vllm/pull/45807, https://github.com/BerriAI/litellm/issues/37118
it.each([
  ['opus-4.6', { type: 'enabled', budget_tokens: 2000 }, { effort: 'high' }],
  ['opus-4.7', { type: 'adaptive', display: 'summarized' }, { effort: 'high' }],
  ['sonnet-4.5', { type: 'enabled', budget_tokens: 2000 }, undefined],
])('sends a budget and an effort to %s as the model takes them', async (name, thinking, output_config) => {
  queue(json(answer));
  const model = `anthropic/claude-${name}`;
  const asked = { thinking: { type: 'enabled', budget_tokens: 2000 }, output_config: { effort: 'high' } };
  const { status } = await post({ ...hello, model, max_tokens: 4000, ...asked });
  expect(status).toBe(200);
  const sent = upstream.requests.at(-1)!.body as Record<string, unknown>;
  expect([sent['thinking'], sent['output_config']]).toEqual([thinking, output_config]);
});

// Qwen Code: thinking between calls may take more tokens than one turn.
it.each([
  ['interleaved-thinking-2025-05-14', 10_000, null],
  [undefined, 7999, 'thinking.budget_tokens'],
])('sends a budget above the limit with %s as %i tokens', async (beta, budget, dropped) => {
  queue(json(answer));
  const model = 'anthropic/claude-sonnet-4.5';
  const thinking = { type: 'enabled', budget_tokens: 10_000 };
  const headers = { 'anthropic-version': '2023-06-01', ...(beta && { 'anthropic-beta': beta }) };
  const { response } = await post({ ...hello, model, max_tokens: 8000, thinking }, { headers });
  expect(response.status).toBe(200);
  expect(upstream.requests.at(-1)!.body).toMatchObject({ thinking: { type: 'enabled', budget_tokens: budget } });
  expect(response.headers.get('x-router-dropped-fields')).toBe(dropped);
});

// https://github.com/aws-samples/sample-multi-agent-orchestration-chat-on-agentcore/issues/15
it.each([
  undefined,
  '',
  [],
  [{ type: 'text', text: '' }],
])('gives a failed result with the content %j one', async (content) => {
  queue(json(answer));
  const result = {
    type: 'tool_result',
    tool_use_id: 'toolu_1',
    is_error: true,
    ...(content !== undefined && { content }),
  };
  const messages = [
    { role: 'user', content: 'Go.' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }] },
    { role: 'user', content: [result] },
  ];
  const tools = [{ name: 'f', input_schema: { type: 'object', properties: {} } }];
  expect((await post({ ...hello, model: claude, messages, tools })).status).toBe(200);
  expect(upstream.requests.at(-1)!.body).toMatchObject({
    messages: [{}, {}, { content: [{ type: 'tool_result', is_error: true, content: 'The call failed.' }] }],
  });
});

it('turns a budget into an effort for a newer model, and keeps the format', async () => {
  queue(json(answer));
  const format = { type: 'json_schema', schema: { type: 'object', properties: {}, additionalProperties: false } };
  const thinking = { type: 'enabled', budget_tokens: 2000 };
  await post({ ...hello, model: 'anthropic/claude-opus-4.7', max_tokens: 4000, thinking, output_config: { format } });
  expect(upstream.requests.at(-1)!.body).toMatchObject({
    thinking: { type: 'adaptive' },
    output_config: { effort: 'medium', format },
  });
});

describe('a stop text of the request that ended the output', () => {
  const text = 'one END two';
  const item = { id: 'msg_1', type: 'message', status: 'completed', role: 'assistant' };
  const output = [{ ...item, content: [{ type: 'output_text', text, annotations: [] }] }];
  const response = { id: 'resp_1', object: 'response', status: 'completed', model: 'gpt-5-mini', output };
  const chosen = (reported: object) => ({
    ...completion,
    choices: [{ ...completion.choices[0], ...reported }],
  });

  it.each([
    ['vLLM names it', gpt, json(chosen({ stop_reason: 'END' })), 'END'],
    ['SGLang names it', gpt, json(chosen({ matched_stop: 'END' })), 'END'],
    [
      'in a stream',
      gpt,
      sse([{ choices: [{ index: 0, delta: { content: 'Hi' } }] }, chosen({ stop_reason: 'END' })]),
      'END',
    ],
    ['a number of a token', gpt, json(chosen({ matched_stop: 128009 })), null],
    ['another word', gpt, json(chosen({ stop_reason: 'eos' })), null],
    ['its output was cut', gpt, json(chosen({ stop_reason: 'END', finish_reason: 'length' })), null],
    ['the gateway found it', native, json(response), 'END'],
    ['the gateway found a blank one', claude, json({ ...answer, content: [{ type: 'text', text: 'a\n\nb' }] }), '\n\n'],
  ])('is its stop_sequence: %s', async (name, model, reported, stop) => {
    queue(reported);
    const stream = name === 'in a stream';
    const answered = await gateway.post('/messages', { ...hello, model, stream, stop_sequences: ['END', '\n\n'] });
    const body = await answered.text();
    const line = body
      .split('\n')
      .find((each) => each.includes('"message_delta"'))
      ?.replace('data: ', '');
    const end = JSON.parse(stream ? line! : body) as { delta?: object };
    expect(end.delta ?? end).toMatchObject({
      stop_reason: stop === null ? expect.stringMatching(/end_turn|max_tokens/) : 'stop_sequence',
      stop_sequence: stop,
    });
  });
});

describe('keys and headers', () => {
  it('takes the key in the header of any vendor or as bearer, and rejects others in its own envelope', async () => {
    for (const header of ['api-key', 'x-goog-api-key']) {
      expect((await post(hello, { key: null, headers: { [header]: gateway.key } })).status).toBe(200);
    }
    const own = await post(hello, { key: null, headers: { 'x-api-key': gateway.key } });
    expect(own.status).toBe(200);
    expect(own.response.headers.get('request-id')).toBe(own.response.headers.get('x-request-id'));

    const wrong = await post(hello, { key: null, headers: { 'x-api-key': 'wrong' } });
    expect(wrong.status).toBe(401);
    expect(wrong.body).toMatchObject({ type: 'error', error: { type: 'authentication_error' } });
    expect(wrong.body['request_id']).toBe(wrong.response.headers.get('request-id'));
  });

  it('sends beta names and the version to an endpoint of the same format, and names them elsewhere', async () => {
    queue(json(answer), json(completion));
    const headers = {
      'anthropic-beta': 'context-1m-2025-08-07, files-api-2025-04-14',
      'anthropic-version': '2026-10-21',
      'x-router-metadata': 'enabled',
    };
    expect((await post({ ...hello, model: claude }, { headers })).status).toBe(200);
    const sent = upstream.requests.at(-1)!.headers;
    expect(sent['anthropic-version']).toBe('2026-10-21');
    expect(String(sent['anthropic-beta']).split(',')).toEqual(['context-1m-2025-08-07', 'files-api-2025-04-14']);

    const thinking = { type: 'adaptive' };
    const other = await post({ ...hello, model: gpt, thinking, context_management: { edits: [] } }, { headers });
    expect(other.body).toMatchObject({
      router_metadata: {
        params: {
          dropped_fields: [
            'context_management',
            'anthropic-beta (context-1m-2025-08-07, files-api-2025-04-14)',
            'thinking.display',
          ],
        },
      },
    });
    expect(JSON.stringify(upstream.requests.at(-1)!.body)).not.toContain('context_management');
  });

  it.each([
    [{ 'anthropic-version': 'latest' }, 'anthropic-version'],
    [{ 'anthropic-beta': 'a b' }, 'anthropic-beta'],
  ])('rejects %o', async (headers, path) => {
    const { status, body } = await post(hello, { headers });
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: { metadata: { issues: [{ path }] } } });
  });
});

describe('errors outside of the route', () => {
  const version = { 'anthropic-version': '2023-06-01' };
  it.each([
    ['an unknown model', '/models/acme/none', version, 404, 'not_found_error'],
    ['a resource that does not exist', '/messages/batches', {}, 404, 'not_found_error'],
    ['another method', '/messages', {}, 405, 'invalid_request_error'],
    ['a wrong base URL', '/v2/models', version, 404, 'not_found_error'],
  ])('have the envelope and the request id: %s', async (_, path, headers, status, type) => {
    const response = await gateway.get(path, { headers: headers as Record<string, string> });
    expect(response.status).toBe(status);
    const id = response.headers.get('x-request-id');
    expect(await response.json()).toMatchObject({ type: 'error', error: { type }, request_id: id });
    expect(response.headers.get('request-id')).toBe(id);
  });

  it('keep the usual envelope for other clients', async () => {
    const response = await gateway.get('/models/acme/none');
    expect(Object.keys((await response.json()) as object)).toEqual(['error']);
    expect(response.headers.has('request-id')).toBe(false);
  });

  it('leave the list of models its request id', async () => {
    const { headers } = await gateway.get('/models', { headers: version });
    expect(headers.get('request-id')).toBe(headers.get('x-request-id'));
  });
});

describe('a body', () => {
  const block = (content: object) => ({ messages: [{ role: 'user', content: [content] }] });
  it.each<[string, object, number, string]>([
    ['without messages', { messages: undefined }, 400, 'messages'],
    [
      'with an image without data',
      block({ type: 'image', source: { type: 'base64', data: 'AA==' } }),
      400,
      'messages[0].content[0].source.media_type',
    ],
    [
      'with a block of the model',
      block({ type: 'tool_use', id: 'a', name: 'b', input: {} }),
      400,
      'messages[0].content[0].type',
    ],
    [
      'with a result of no call',
      block({ type: 'tool_result', tool_use_id: 'x' }),
      422,
      'messages[0].content[0].tool_use_id',
    ],
    [
      'with a tool that is not there',
      { tools: [{ name: 'a', input_schema: {} }], tool_choice: { type: 'tool', name: 'b' } },
      400,
      'tool_choice.name',
    ],
    ['with models and fallbacks', { models: ['a/b'], fallbacks: [{ model: 'a/c' }] }, 400, 'fallbacks'],
    [
      'with a toolset of no server',
      { tools: [{ type: 'mcp_toolset', mcp_server_name: 'x' }] },
      400,
      'tools[0].mcp_server_name',
    ],
    [
      'with a tool of the provider alone',
      { model: gpt, tools: [{ type: 'computer_20250124', name: 'computer' }] },
      400,
      'tools[0]',
    ],
    [
      'with an unknown block for another format',
      { model: gpt, ...block({ type: 'container_upload', file_id: 'f' }) },
      400,
      'messages[0].content[0]',
    ],
  ])('%s is rejected with its path', async (_what, change, status, path) => {
    const failed = await post({ ...hello, ...change });
    expect(failed.status).toBe(status);
    expect(failed.body).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error', metadata: { issues: [{ path }] } },
    });
  });

  it('falls back to the models that it names', async () => {
    queue(
      json({ type: 'error', error: { type: 'overloaded_error', message: 'Busy' } }, { status: 529 }),
      json(completion),
    );
    const { body } = await post({ ...hello, model: claude, fallbacks: [{ model: gpt }] });
    expect(body).toMatchObject({ model: gpt, content: [{ text: 'Hi' }] });
  });

  it('leaves out results of tools that a provider ran, for a model of another one', async () => {
    queue(json(completion));
    const searched = [
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } },
      { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
      { type: 'text', text: 'Found.' },
    ];
    const messages = [...hello.messages, { role: 'assistant', content: searched }, { role: 'user', content: 'And?' }];
    expect((await post({ ...hello, model: gpt, messages })).status).toBe(200);
    expect(upstream.requests.at(-1)!.body).toMatchObject({
      messages: [{ content: 'Hello' }, { role: 'assistant', content: 'Found.' }, { content: 'And?' }],
    });
  });
});

it('returns an object as the input of a tool without a schema', async () => {
  const tools = [{ name: 'look', input_schema: {} }];
  const response = await gateway.post('/messages', { ...hello, tools, tool_choice: { type: 'any' } });
  expect(await response.json()).toMatchObject({ content: [{ type: 'tool_use', name: 'look', input: {} }] });
});

describe('server tools', () => {
  const fetch = { type: 'web_fetch_20250910', name: 'web_fetch', max_uses: 2 };
  const search = { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' };
  const later = { name: 'later', input_schema: { type: 'object' }, defer_loading: true };
  const body = { ...hello, tools: [fetch, search, later, { name: 'now', input_schema: { type: 'object' } }] };
  const namesOf = (sent: unknown) =>
    (sent as { tools: { name?: string; function?: { name: string } }[] }).tools.map(
      (tool) => tool.function?.name ?? tool.name,
    );

  it('are those of the provider, if it has the format', async () => {
    const found = [
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_fetch', input: { url: 'https://a.example' } },
      { type: 'web_fetch_tool_result', tool_use_id: 'srvtoolu_1', content: { type: 'web_fetch_result' } },
    ];
    queue(json({ ...answer, content: found, stop_reason: 'pause_turn' }));
    const { body: message } = await post({ ...body, model: claude });
    expect(message).toMatchObject({ content: found, stop_reason: 'pause_turn' });
    const sent = upstream.requests.at(-1)!.body;
    expect(sent).toMatchObject({ tools: expect.arrayContaining([fetch]) });
    expect(namesOf(sent).sort()).toEqual(['now', 'router_tool_search', 'web_fetch']);
  });

  it('are those of the gateway elsewhere', async () => {
    queue(json(completion));
    expect((await post({ ...body, model: gpt })).status).toBe(200);
    const names = namesOf(upstream.requests.at(-1)!.body);
    expect(names.sort()).toEqual(['now', 'router_tool_search', 'router_web_fetch']);
  });

  it('are blocks that a client sends back', async () => {
    const prompt = '[[call router_datetime {}]] [[then]] [[say It is late.]]';
    const body = { ...hello, messages: [{ role: 'user', content: prompt }], tools: [{ type: 'router:datetime' }] };
    const first = await post(body);
    expect(first.body).toMatchObject({
      stop_reason: 'end_turn',
      content: [
        { type: 'mcp_tool_use', name: 'router:datetime', server_name: 'router' },
        { type: 'mcp_tool_result', is_error: false },
        { type: 'text', text: 'It is late.' },
      ],
    });
    queue(json(completion));
    const messages = [
      ...body.messages,
      { role: 'assistant', content: first.body['content'] },
      { role: 'user', content: 'Thanks' },
    ];
    expect((await post({ ...body, model: gpt, messages })).status).toBe(200);
    const { messages: sent } = upstream.requests.at(-1)!.body as { messages: { tool_calls?: object[] }[] };
    expect(sent[1]?.tool_calls).toMatchObject([{ function: { name: 'router_datetime' } }]);
    expect(sent[2]).toMatchObject({ role: 'tool', content: expect.stringContaining('20') });
  });
});

describe('tools that the format has', () => {
  const program = {
    id: 'ci_34aba97095257ec6',
    type: 'code_interpreter_call',
    status: 'completed',
    code: 'print(1)',
    container_id: 'cntr_1150',
    outputs: [{ type: 'logs', logs: '1\n' }],
  };
  const shell = {
    id: 'sh_0f3a',
    type: 'shell_call',
    call_id: 'call_7',
    status: 'completed',
    action: { commands: ['ls'], timeout_ms: null, max_output_length: null },
  };
  const listing = {
    id: 'sho_0f3b',
    type: 'shell_call_output',
    call_id: 'call_7',
    status: 'completed',
    output: [{ stdout: 'a.txt', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
  };
  const said = {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'Done.', annotations: [] }],
  };
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  const result = { id: 'resp_1', object: 'response', status: 'completed', model: 'gpt', usage };
  const bash = { type: 'server_tool_use', name: 'bash_code_execution', caller: { type: 'direct' } };

  it('are blocks that every official client knows, and go back to the provider as they were', async () => {
    const output = [program, shell, listing, { id: 'msg_1', status: 'completed', ...said }];
    queue(json({ ...result, output }));
    const first = await post({ ...hello, model: native });
    const content = first.body['content'] as unknown as object[];
    expect(content).toMatchObject([
      { type: 'server_tool_use', name: 'code_execution', input: { code: 'print(1)' }, caller: { type: 'direct' } },
      {
        type: 'code_execution_tool_result',
        content: { type: 'code_execution_result', stdout: '1\n', stderr: '', return_code: 0, content: [] },
      },
      { ...bash, input: { action: { commands: ['ls'] } } },
      { type: 'bash_code_execution_tool_result' },
      bash,
      {
        type: 'bash_code_execution_tool_result',
        content: { type: 'bash_code_execution_result', stdout: 'a.txt', stderr: '', return_code: 0, content: [] },
      },
      { type: 'text', text: 'Done.' },
    ]);
    queue(json({ ...result, output: [{ id: 'msg_2', status: 'completed', ...said }] }));
    const messages = [...hello.messages, { role: 'assistant', content }, { role: 'user', content: 'Thanks' }];
    expect((await post({ ...hello, model: native, messages })).status).toBe(200);
    const { input } = upstream.requests.at(-1)!.body as { input: object[] };
    expect(input.slice(1, 4)).toEqual([program, shell, listing]);
  });

  it('have the item in the input of the call when they are streamed', async () => {
    const events = [
      { type: 'response.created', response: { ...result, status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item: { ...program, status: 'in_progress' } },
      { type: 'response.output_item.done', output_index: 0, item: program },
      { type: 'response.completed', response: { ...result, output: [program] } },
    ];
    queue(sse(events.map((event, index) => ({ ...event, sequence_number: index }))));
    const response = await gateway.post('/messages', { ...hello, model: native, stream: true });
    const text = await response.text();
    expect(text).toContain('"type":"server_tool_use"');
    expect(text).toMatch(/"partial_json":"\{\\"code\\":\\"print\(1\)\\",\\"router_item\\":\\"hg1\./);
    expect(text).toContain('"stdout":"1\\n"');
  });
});

describe('a stream', () => {
  it('has pings while the provider is silent, and the metadata in its last event', async () => {
    const body = { ...hello, stream: true, messages: [{ role: 'user', content: '[[wait 200]] [[say Done.]]' }] };
    const response = await gateway.post('/messages', body, { headers: { 'x-router-metadata': 'enabled' } });
    const text = await response.text();
    expect(text).toContain('event: ping\ndata: {"type": "ping"}\n\n');
    expect(text).toMatch(/event: message_stop\ndata: \{"type":"message_stop","router_metadata":\{.*\n\n$/);
  });

  it('ends with an error event if the provider stops in the middle', async () => {
    const start = { type: 'message_start', message: { ...answer, content: [], stop_reason: null } };
    const frames = [
      start,
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
    ];
    queue(sse(frames, { named: true }));
    const text = await (await gateway.post('/messages', { ...hello, model: claude, stream: true })).text();
    expect(text).toContain('"text":"Hi"');
    expect(text.trimEnd().split('\n\n').at(-1)).toMatch(
      /^event: error\ndata: \{"type":"error","error":\{"type":"api_error"/,
    );
    expect(text).not.toContain('message_stop');
  });
});

describe('count_tokens', () => {
  async function count(body: object, headers: Record<string, string> = {}) {
    const response = await gateway.post('/messages/count_tokens', body, { headers });
    const { input_tokens: tokens } = (await response.json()) as { input_tokens?: number };
    return { status: response.status, source: response.headers.get('x-router-token-count'), tokens };
  }
  const { max_tokens: _, ...body } = { ...hello, model: claude };

  it('returns the count of a provider of the same format', async () => {
    queue(json({ input_tokens: 4242 }));
    const tools = [{ name: 'now', description: 'The time', input_schema: { type: 'object' } }];
    const thinking = { type: 'enabled', budget_tokens: 2000 };
    const beta = { 'anthropic-beta': 'context-1m-2025-08-07' };

    const counted = await count({ ...body, max_tokens: 4000, stream: true, temperature: 1, tools, thinking }, beta);

    expect(counted).toEqual({ status: 200, source: 'provider', tokens: 4242 });
    const sent = upstream.requests.at(-1)!;
    expect(sent.path).toBe('/v1/messages/count_tokens');
    expect(sent.headers['anthropic-beta']).toContain('context-1m-2025-08-07');
    expect(sent.headers['x-api-key']).toBe('upstream-key-of-a-test');
    expect(Object.keys(sent.body as object).sort()).toEqual(['messages', 'model', 'thinking', 'tools']);
    expect(sent.body).toMatchObject({ model: 'claude-sonnet-4-5', thinking, tools });
  });

  it('estimates if the provider fails', async () => {
    for (const response of [json({ type: 'error' }, { status: 404 }), json({ input_tokens: 'many' })]) {
      queue(response);
      const before = upstream.requests.length;
      expect(await count(body)).toEqual({ status: 200, source: 'estimate', tokens: expect.any(Number) });
      expect(upstream.requests).toHaveLength(before + 1);
    }
  });

  it('estimates without a call for other wires, and for unknown models', async () => {
    const before = upstream.requests.length;
    for (const model of [gpt, 'simulator/echo', 'acme/unknown']) {
      expect(await count({ ...body, model })).toEqual({ status: 200, source: 'estimate', tokens: expect.any(Number) });
    }
    expect(upstream.requests).toHaveLength(before);
  });

  it('has the rate limits of the key', async () => {
    const limited = await testGateway({ limits: { requests_per_minute: 1 } });
    try {
      const statuses = [];
      for (let request = 0; request < 2; request++) {
        statuses.push((await limited.post('/messages/count_tokens', hello)).status);
      }
      expect(statuses).toEqual([200, 429]);
    } finally {
      await limited.close();
    }
  });
});

it('redacts every text of a body before an endpoint of the same format gets it', async () => {
  const managed = { key: gateway.managementKey };
  const idOf = async (response: Response) => ((await response.json()) as { data: { id: string } }).data.id;
  const filter = { name: 'mail', content_filter_builtins: [{ slug: 'email', action: 'redact' }] };
  const blocking = { content_filter_builtins: [{ slug: 'email', action: 'block' }] };
  const id = await idOf(await gateway.send('POST', '/guardrails', filter, managed));
  const keys = (await (await gateway.send('GET', '/keys', undefined, managed)).json()) as { data: { hash: string }[] };
  const hashes = { key_hashes: keys.data.map(({ hash }) => hash) };
  await gateway.send('POST', `/guardrails/${id}/assignments/keys`, hashes, managed);
  const mail = 'ada@example.org';
  const text = { type: 'text', text: mail };
  queue(json(answer));

  const { status } = await post({
    ...hello,
    model: claude,
    system: [text],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'document', title: mail, context: mail, source: { type: 'text', data: mail } },
          { type: 'search_result', source: mail, title: mail, content: [text] },
          { type: 'new_kind', words: mail },
        ],
      },
      { role: 'assistant', content: [{ ...text, citations: [{ type: 'char_location', cited_text: mail }] }] },
      { role: 'user', content: mail },
    ],
  });

  const sent = JSON.stringify(upstream.requests.at(-1)!.body);
  queue(json({ input_tokens: 7 }));
  await gateway.post('/messages/count_tokens', {
    ...hello,
    model: claude,
    messages: [{ role: 'user', content: mail }],
  });
  const counted = upstream.requests.at(-1)!;
  await gateway.send('PATCH', `/guardrails/${id}`, blocking, managed);
  const blocked = await gateway.post('/messages/count_tokens', {
    ...hello,
    messages: [{ role: 'user', content: mail }],
  });

  await gateway.send('DELETE', `/guardrails/${id}`, undefined, managed);
  expect(counted.path).toBe('/v1/messages/count_tokens');
  expect(JSON.stringify(counted.body)).not.toContain(mail);
  expect(blocked.status).toBe(403);
  expect(status).toBe(200);
  expect(sent).not.toContain(mail);
  expect(sent.split('[EMAIL]')).toHaveLength(12);
});
