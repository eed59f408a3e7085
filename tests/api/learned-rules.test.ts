import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { json, sse } from '../../src/testing/scripted-responses.ts';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';

let upstream: ScriptedUpstream;
let gateway: TestGateway;
let before: number;
const config = (routing: object = {}) => ({
  routing,
  providers: [
    {
      id: 'acme',
      wire: 'openai-chat',
      base_url: upstream.url,
      models: [{ model: 'acme/*', upstream_model: '*' }],
    },
    {
      id: 'cloud',
      wire: 'anthropic-messages',
      base_url: upstream.url,
      models: [{ model: 'cloud/*', upstream_model: '*' }],
    },
  ],
});
beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await testGateway(config());
});
beforeEach(() => {
  before = upstream.requests.length;
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

/** Starts a gateway whose provider is a server that no rule names. */
const openServer = (wire: string) =>
  testGateway({
    providers: [{ id: 'open', wire, base_url: upstream.url, models: [{ model: 'open/*', upstream_model: '*' }] }],
  });

const bodies = () => upstream.requests.slice(before).map(({ body }) => body as Record<string, unknown>);
const message = { role: 'assistant', content: 'Hello.' };
const usage = { prompt_tokens: 2, completion_tokens: 1 };
const whole = json({ choices: [{ index: 0, finish_reason: 'stop', message }], usage });
const streamed = sse([{ choices: [{ index: 0, finish_reason: 'stop', delta: message }], usage }], { done: true });

/** A server that refuses parameters in the words of a real one, one after the other. */
const refusing = (...names: string[]) =>
  upstream.always(({ body }: ScriptedRequest) => {
    const sent = body as Record<string, unknown>;
    const refused = names.find((name) => name in sent);
    if (refused === undefined) return sent['stream'] ? streamed : whole;
    const error = { message: `Unsupported parameter: '${refused}' is not supported with this model.`, param: refused };
    return json({ error }, { status: 400 });
  });

const paths = [
  ['/responses', { input: 'Hi' }],
  ['/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }],
  ['/messages', { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 50 }],
] as const;

// lmg-anon/mikupad#140
it('leaves out the parameter that means nothing without a refused one', async () => {
  upstream.always(({ body }: ScriptedRequest) => {
    const { logprobs, top_logprobs: top } = body as Record<string, unknown>;
    if (!logprobs && top === undefined) return whole;
    return json({ error: { message: "Unsupported parameter: 'logprobs'.", param: 'logprobs' } }, { status: 400 });
  });
  const body = { model: 'acme/text', prompt: 'Hi', logprobs: 3 };
  expect((await gateway.post('/completions', body)).status).toBe(200);
  expect((await gateway.post('/completions', body)).status).toBe(200);
  expect(bodies()).toHaveLength(3);
});

describe('a limit of the output that is too high', () => {
  const refuse = (message: string) => json({ error: { message } }, { status: 400 });
  const limitOf = (body: Record<string, unknown>) => body['max_completion_tokens'] ?? body['max_tokens'];

  // https://github.com/deepseek-ai/DeepSeek-V3/issues/69
  it.each(paths)('is lowered to that of the model on %s, and for the requests after it', async (path, body) => {
    upstream.always(({ body: sent }: ScriptedRequest) =>
      Number(limitOf(sent as Record<string, unknown>)) > 8192
        ? refuse('Invalid max_tokens value, the valid range of max_tokens is [1, 8192]')
        : whole,
    );
    const name = path === '/responses' ? 'max_output_tokens' : 'max_tokens';
    const model = `acme/limit-${path.slice(1).replace('/', '-')}`;
    for (const limits of [[16_384, 8192], [8192]]) {
      before = upstream.requests.length;
      const response = await gateway.post(path, { ...body, model, [name]: 16_384 });
      expect(response.status).toBe(200);
      expect(response.headers.get('x-router-dropped-fields')).toBe(name);
      expect(bodies().map(limitOf)).toEqual(limits);
    }
  });

  // https://github.com/docker/docker-agent/issues/569
  it('becomes the room that the input leaves, for this request only', async () => {
    upstream.always(({ body }: ScriptedRequest) =>
      Number(limitOf(body as Record<string, unknown>)) > 21_041
        ? refuse(
            'input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again',
          )
        : json({
            type: 'message',
            role: 'assistant',
            content: [{ type: 'text', text: 'Hi' }],
            stop_reason: 'end_turn',
          }),
    );
    for (let time = 0; time < 2; time++) {
      before = upstream.requests.length;
      const body = { model: 'cloud/room', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 64_000 };
      expect((await gateway.post('/messages', body)).status).toBe(200);
      expect(bodies().map(limitOf)).toEqual([64_000, 21_041]);
    }
  });

  // https://github.com/vllm-project/vllm/issues/42474
  it('is left out for vLLM, which does not say how long the input is', async () => {
    upstream.always(({ body }: ScriptedRequest) =>
      limitOf(body as Record<string, unknown>) === undefined
        ? whole
        : refuse(
            "This model's maximum context length is 128000 tokens. However, you requested 65535 output tokens and your prompt contains at least 62466 input tokens, for a total of at least 128001 tokens.",
          ),
    );
    const body = { model: 'acme/room', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 65_535 };
    const response = await gateway.post('/chat/completions', body);
    expect(response.status).toBe(200);
    expect(response.headers.get('x-router-dropped-fields')).toBe('max_tokens');
  });
});

describe.each([false, true])('a parameter that the provider refuses, streamed: %s', (stream) => {
  it.each(paths)('is left out on %s, once and for the requests after it', async (path, body) => {
    refusing('temperature', 'top_p');
    const model = `acme/${path.slice(1).replace('/', '-')}-${stream}`;
    const ask = () => gateway.post(path, { model, ...body, temperature: 0.5, top_p: 0.9, stream });
    const first = await ask();
    expect(first.status).toBe(200);
    expect(await first.text()).toContain('Hello.');
    expect(first.headers.get('x-router-dropped-fields')).toBe('temperature, top_p');
    expect(bodies().map((sent) => ['temperature' in sent, 'top_p' in sent])).toEqual([
      [true, true],
      [false, true],
      [false, false],
    ]);
    await (await ask()).text();
    expect(bodies()).toHaveLength(4);
  });
});

describe('what a server demands of each request', () => {
  const object = json({
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: '{}' } }],
    usage,
  });
  const turns = (...roles: string[]) => roles.map((role, index) => ({ role, content: `Text ${index}.` }));
  interface Sent {
    messages?: { role: string; content?: unknown; tool_calls?: { id: string }[] }[];
    stream?: boolean;
    response_format?: { type: string };
    tools?: unknown;
    tool_choice?: unknown;
    temperature?: number;
    reasoning_effort?: string;
  }
  const tools = [{ type: 'function', function: { name: 'find', parameters: { type: 'object', properties: {} } } }];
  const called = [
    { role: 'user', content: 'Find it.' },
    {
      role: 'assistant',
      content: 'I look.',
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'find', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'Found.' },
  ];
  const system = ({ messages = [] }: Sent) => messages.some(({ role }, index) => role === 'system' && index > 0);
  const repeats = ({ messages = [] }: Sent) =>
    messages.some(({ role }, index) => (role === 'system' ? index > 0 : role === messages[index - 1]?.role));
  const format = { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object', properties: {} } } };

  it.each<[string, string, (sent: Sent) => boolean, object]>([
    [
      'system-first',
      'System message must be at the beginning.',
      system,
      turns('system', 'user', 'assistant', 'system', 'user'),
    ],
    [
      'alternating',
      'Conversation roles must alternate user/assistant/user/assistant/...',
      repeats,
      turns('system', 'user', 'user', 'assistant', 'user'),
    ],
    [
      'no-system',
      'System role not supported',
      ({ messages }) => messages?.[0]?.role === 'system',
      turns('system', 'user'),
    ],
    [
      'streams',
      'This model only support stream mode, please enable the stream parameter to access the model.',
      ({ stream }) => stream !== true,
      turns('user'),
    ],
    [
      'zero',
      'Input validation error: `temperature` must be strictly positive',
      ({ temperature }) => temperature === 0,
      { messages: turns('user'), temperature: 0 },
    ],
    [
      'efforts',
      "Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model. Supported values are: 'low', 'medium', and 'high'.",
      ({ reasoning_effort: effort }) => effort === 'xhigh',
      { messages: turns('user'), reasoning_effort: 'xhigh' },
    ],
    [
      'usage',
      'Unsupported parameter: stream_options',
      (sent) => 'stream_options' in sent,
      { messages: turns('user'), stream: true },
    ],
    [
      'word',
      "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
      ({ response_format: asked, messages }) => asked !== undefined && !/json/i.test(JSON.stringify(messages)),
      { messages: turns('user'), response_format: { type: 'json_object' } },
    ],
    [
      'mode',
      'json_object response format is not supported for model: acme/mode',
      ({ response_format: asked }) => asked !== undefined,
      { messages: turns('user'), response_format: { type: 'json_object' } },
    ],
    [
      'schema',
      'This response_format type is unavailable now',
      ({ response_format: asked }) => asked?.type === 'json_schema',
      { messages: turns('user'), response_format: format },
    ],
    [
      'ids',
      'Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.',
      ({ messages = [] }) => messages.some(({ tool_calls: calls = [] }) => calls.some(({ id }) => id.length !== 9)),
      { messages: called, tools },
    ],
    [
      'called-tools',
      'The toolConfig field must be defined when using toolUse and toolResult content blocks.',
      ({ tools: sent }) => sent === undefined,
      { messages: called },
    ],
    [
      'blank',
      "messages[1]:content and tool_calls fields can't both be empty",
      ({ messages = [] }) => messages.some(({ content, tool_calls: calls }) => !content && !calls),
      [...turns('user'), { role: 'assistant', content: '' }, ...turns('user')],
    ],
    [
      'choice',
      'fireworks_ai does not support parameters: [tool_choice], for model=acme/choice',
      ({ tool_choice: choice }) => choice !== undefined,
      { messages: turns('user'), tools, tool_choice: 'auto' },
    ],
  ])('is met at once and for the requests after it: %s', async (name, message, isRefused, body) => {
    upstream.always(({ body: sent }: ScriptedRequest) =>
      isRefused(sent as Sent)
        ? json({ error: { message } }, { status: name === 'mode' ? 405 : 400 })
        : (sent as Sent).stream
          ? streamed
          : object,
    );
    const request = { model: `acme/${name}`, ...(Array.isArray(body) ? { messages: body } : body) };
    for (const tries of [2, 1]) {
      before = upstream.requests.length;
      const response = await gateway.post('/chat/completions', request);
      expect([response.status, bodies().length]).toEqual([200, tries]);
      for (const { content } of (request as unknown as { messages: { content: string }[] }).messages) {
        expect(JSON.stringify(bodies().at(-1))).toContain(content);
      }
    }
  });

  // https://github.com/Wei-Shaw/sub2api/issues/3060, https://github.com/scaleapi/vero/pull/66
  it.each(paths)('is neither a limit nor a choice, at a server of Responses, on %s', async (path, body) => {
    const other = await openServer('openai-responses');
    const output = [{ type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] }];
    upstream.always(({ body: sent }: ScriptedRequest) => {
      const refused = ['max_output_tokens', 'tool_choice'].find((name) => name in (sent as object));
      return refused === undefined
        ? json({ id: 'r', object: 'response', status: 'completed', output })
        : json({ detail: `Unsupported parameter: ${refused}` }, { status: 400 });
    });
    const limit = path === '/responses' ? 'max_output_tokens' : 'max_tokens';
    const find = { name: 'find', parameters: { type: 'object', properties: {} } };
    const more = {
      '/responses': { tools: [{ type: 'function', ...find }], tool_choice: 'auto' },
      '/chat/completions': { tools, tool_choice: 'auto' },
      '/messages': { tools: [{ name: 'find', input_schema: find.parameters }], tool_choice: { type: 'auto' } },
    }[path];
    for (const tries of [3, 1]) {
      before = upstream.requests.length;
      const response = await other.post(path, { ...body, ...more, model: 'open/any', [limit]: 50 });
      expect([response.status, bodies().length]).toEqual([200, tries]);
      expect(response.headers.get('x-router-dropped-fields')).toContain(limit);
    }
    await other.close();
  });

  // https://github.com/ggml-org/llama.cpp/issues/20156, https://github.com/router-for-me/CLIProxyAPI/issues/5753
  it.each([false, true])('is functions alone, at a server of Responses, streamed: %s', async (stream) => {
    const other = await openServer('openai-responses');
    const calls = [
      ['apply_patch', '{"input":"*** Begin Patch\\n"}'],
      ['crm__find', '{"id":1}'],
    ].map(([name, text], index) => ({
      type: 'function_call',
      id: `fc_${index}`,
      call_id: `call_${index}`,
      name,
      arguments: text,
    }));
    const done = { id: 'r', object: 'response', status: 'completed', output: calls };
    const events = calls.flatMap((item, at) => [
      { type: 'response.output_item.added', output_index: at, item: { ...item, arguments: '' } },
      ...[...item.arguments!].map((delta) => ({
        type: 'response.function_call_arguments.delta',
        output_index: at,
        item_id: item.id,
        delta,
      })),
      { type: 'response.output_item.done', output_index: at, item },
    ]);
    upstream.always(({ body }: ScriptedRequest) => {
      const {
        tools: sent,
        input,
        stream: streams,
      } = body as { tools: { type: string }[]; input: { type: string }[]; stream: boolean };
      const isPlain = sent.every(({ type }) => type === 'function') && !input.some(({ type }) => /custom/.test(type));
      if (!isPlain) return json({ error: { message: "'type' of tool must be 'function'" } }, { status: 400 });
      return streams ? sse([...events, { type: 'response.completed', response: done }]) : json(done);
    });
    const input = [
      { role: 'user', content: 'Patch it.' },
      { type: 'custom_tool_call', call_id: 'c0', name: 'apply_patch', input: 'x' },
      { type: 'custom_tool_call_output', call_id: 'c0', output: 'ok' },
    ];
    const find = { type: 'function', name: 'find', parameters: { type: 'object', properties: {} } };
    const given = [
      { type: 'custom', name: 'apply_patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' } },
      { type: 'namespace', name: 'crm', description: 'CRM', tools: [find] },
      { type: 'web_search', external_web_access: true },
    ];
    for (const tries of [2, 1]) {
      before = upstream.requests.length;
      const body = { model: 'open/any', input, tools: given, tool_choice: 'auto', stream };
      const response = await other.post('/responses', body);
      expect([response.status, bodies().length]).toEqual([200, tries]);
      expect(bodies().at(-1)).toMatchObject({
        tools: [{ name: 'apply_patch' }, { name: 'crm__find' }],
        tool_choice: 'auto',
        input: [{}, { type: 'function_call', arguments: '{"input":"x"}' }, { type: 'function_call_output' }],
      });
      const text = await response.text();
      const last = stream ? text.split('data: ').find((data) => data.includes('"response.completed"'))! : text;
      const parsed = JSON.parse(last.split('\n')[0]!) as Record<string, unknown>;
      const { output } = (parsed['response'] ?? parsed) as { output: object[] };
      expect(output).toMatchObject([
        { type: 'custom_tool_call', call_id: 'call_0', name: 'apply_patch', input: '*** Begin Patch\n' },
        { type: 'function_call', call_id: 'call_1', name: 'find', namespace: 'crm', arguments: '{"id":1}' },
      ]);
      expect(text.includes('response.custom_tool_call_input.delta')).toBe(stream);
    }
    await other.close();
  });

  // https://github.com/openai/codex/issues/12669
  it('is an id, a status and annotations of earlier messages, at a server of Responses', async () => {
    const other = await openServer('openai-responses');
    const output = [{ type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] }];
    const text =
      "240 validation errors:\n  {'type': 'string_type', 'loc': ('body', 'input', 'str'), 'msg': 'Input should be a valid string', 'input': []}";
    const isWhole = (item: Record<string, unknown>) =>
      item['role'] !== 'assistant' ||
      ('id' in item && 'status' in item && (item['content'] as object[]).every((part) => 'annotations' in part));
    upstream.always(({ body }: ScriptedRequest) =>
      (body as { input: Record<string, unknown>[] }).input.every(isWhole)
        ? json({ id: 'r', object: 'response', status: 'completed', output })
        : json({ error: { message: text } }, { status: 400 }),
    );
    const user = { role: 'user', content: 'Hi' };
    const input = [user, { role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] }, user];
    for (const tries of [2, 1]) {
      before = upstream.requests.length;
      expect([(await other.post('/responses', { model: 'open/any', input })).status, bodies().length]).toEqual([
        200,
        tries,
      ]);
    }
    const messages = [user, { role: 'assistant', content: 'Hello' }, user];
    expect((await other.post('/chat/completions', { model: 'open/any', messages })).status).toBe(200);
    await other.close();
  });

  // https://github.com/OpenHands/software-agent-sdk/issues/987
  it('is no summary of the reasoning, to a client of another format', async () => {
    const other = await openServer('openai-responses');
    const message = 'Your organization must be verified to generate reasoning summaries.';
    const output = [{ type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] }];
    upstream.always(({ body: sent }: ScriptedRequest) =>
      (sent as { reasoning?: { summary?: string } }).reasoning?.summary
        ? json({ error: { message, param: 'reasoning.summary', code: 'unsupported_value' } }, { status: 400 })
        : json({ id: 'r', object: 'response', status: 'completed', output }),
    );
    const thinking = { type: 'enabled', budget_tokens: 2000 };
    const body = { model: 'open/gpt-5', max_tokens: 4000, messages: [{ role: 'user', content: 'Hi' }], thinking };
    for (const tries of [2, 1]) {
      before = upstream.requests.length;
      expect([(await other.post('/messages', body)).status, bodies().length]).toEqual([200, tries]);
    }
    await other.close();
  });
});

it('is in the metadata', async () => {
  refusing('top_p');
  const response = await gateway.post(
    '/responses',
    { model: 'acme/shown', input: 'Hi', top_p: 0.7 },
    { headers: { 'x-router-metadata': 'enabled' } },
  );
  const { router_metadata: metadata } = (await response.json()) as { router_metadata: { params: object } };
  expect(metadata.params).toMatchObject({
    dropped_fields: ['top_p'],
    learned: [{ provider: 'acme', model: 'acme/shown', refused: 'top_p' }],
  });
});

/** Answers in a format once a server has no complaint about a request. */
const refusingIf = (complain: (request: ScriptedRequest) => string | undefined, answer = whole) =>
  upstream.always((request: ScriptedRequest) => {
    const message = complain(request);
    return message === undefined ? answer : json({ error: { message } }, { status: 400 });
  });

const claude = json({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  content: [{ type: 'text', text: 'Hello.' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 2, output_tokens: 1 },
});

it('reasoning that a model does not have is left out, once and for the requests after it', async () => {
  refusingIf(({ text }) => (text.includes('reasoning_effort') ? '"llama" does not support thinking' : undefined));
  const body = { model: 'acme/llama', max_tokens: 4000, messages: [{ role: 'user', content: 'Hi' }] };
  const ask = () => gateway.post('/messages', { ...body, thinking: { type: 'adaptive' } });
  const first = await ask();
  expect([first.status, first.headers.get('x-router-dropped-fields')]).toEqual([
    200,
    expect.stringContaining('effort'),
  ]);
  expect((await ask()).status).toBe(200);
  expect(bodies()).toHaveLength(3);
});

// OpenHands/software-agent-sdk#1630
it('so is an effort, if a cloud of Claude does not have it', async () => {
  upstream.always(({ text }: ScriptedRequest) => {
    if (!text.includes('"effort"')) return claude;
    const message = 'output_config: Extra inputs are not permitted';
    return json({ type: 'error', error: { type: 'invalid_request_error', message } }, { status: 400 });
  });
  const body = { model: 'cloud/claude-opus-4-6', max_tokens: 4000, messages: [{ role: 'user', content: 'Hi' }] };
  const ask = () => gateway.post('/messages', { ...body, output_config: { effort: 'high' } });
  expect((await ask()).status).toBe(200);
  expect((await ask()).status).toBe(200);
  expect(bodies()).toHaveLength(3);
});

it('so are bounds in schemas, if a server cannot make a grammar of them', async () => {
  refusingIf(({ text }) =>
    text.includes('"maxLength"') ? 'Failed to initialize samplers: failed to parse grammar' : undefined,
  );
  const path = { type: 'string', description: 'A path.', maxLength: 100_000, pattern: '^\\d+$' };
  const tools = [{ name: 'f', input_schema: { type: 'object', properties: { path } } }];
  const body = { model: 'acme/grammar', max_tokens: 50, tools, messages: [{ role: 'user', content: 'Hi' }] };
  expect((await gateway.post('/messages', body)).status).toBe(200);
  expect(JSON.stringify(bodies().at(-1))).toContain('A path. (maxLength: 100000, pattern: ');
  expect((await gateway.post('/messages', body)).status).toBe(200);
  expect(bodies()).toHaveLength(3);
});

it('so are features of a client that a cloud does not know, and the lifetime of a mark', async () => {
  const cached = { type: 'text', text: 'Hi', cache_control: { type: 'ephemeral', ttl: '1h' } };
  refusingIf(({ headers, text }) => {
    if (headers['anthropic-beta'] !== 'b-2026-02-02')
      return 'Unexpected value(s) `a-2026-01-01` for the `anthropic-beta` header.';
    if (text.includes('context_management')) return 'context_management: Extra inputs are not permitted';
    return text.includes('ttl')
      ? 'messages.0.content.0.text.cache_control.ephemeral.ttl: Extra inputs are not permitted'
      : undefined;
  }, claude);
  const ask = () =>
    gateway.post(
      '/messages',
      {
        model: 'cloud/claude-sonnet-4-5',
        max_tokens: 50,
        context_management: { edits: [] },
        messages: [{ role: 'user', content: [cached] }],
      },
      { headers: { 'anthropic-beta': 'a-2026-01-01,b-2026-02-02' } },
    );
  const first = await ask();
  expect(first.status).toBe(200);
  expect(first.headers.get('x-router-dropped-fields')).toBe('anthropic-beta, context_management, cache_control.ttl');
  expect((await ask()).status).toBe(200);
  expect(bodies()).toHaveLength(5);
});

it('the limit of the output gets its other name', async () => {
  refusing('max_completion_tokens');
  const response = await gateway.post('/responses', { model: 'acme/limit', input: 'Hi', max_output_tokens: 50 });
  expect(response.status).toBe(200);
  expect(bodies().at(-1)).toMatchObject({ max_tokens: 50 });
});

it.each([
  ['messages', "Unsupported parameter: 'messages'."],
  ['nothing', 'Something is wrong.'],
])('an error that names %s teaches nothing', async (_, text) => {
  upstream.always(json({ error: { message: text } }, { status: 400 }));
  const response = await gateway.post('/responses', { model: 'acme/none', input: 'Hi', top_p: 0.7 });
  expect(response.status).toBe(400);
  expect(bodies()).toHaveLength(1);
});

it('a parameter that is refused again is the error of the request', async () => {
  upstream.always(json({ error: { message: "Unsupported parameter: 'top_p'." } }, { status: 400 }));
  const response = await gateway.post('/responses', { model: 'acme/again', input: 'Hi', top_p: 0.7 });
  expect(response.status).toBe(400);
  expect(bodies()).toHaveLength(2);
});

it('is an error without `routing.learn_rules`', async () => {
  const other = await testGateway(config({ learn_rules: false }));
  refusing('top_p');
  const response = await other.post('/responses', { model: 'acme/off', input: 'Hi', top_p: 0.7 });
  expect(response.status).toBe(400);
  expect(bodies()).toHaveLength(1);
  await other.close();
});

describe('one caller teaches nothing that is not true for the others', () => {
  const ask = (more: object) => gateway.post('/responses', { model: 'acme/shared', input: 'Hi', ...more });

  it('if its request does not have the parameter', async () => {
    upstream.always(json({ error: { message: "Unsupported parameter: 'top_p'." } }, { status: 400 }));
    expect((await ask({})).status).toBe(400);
    expect(bodies()).toHaveLength(1);
    refusing();
    await (await ask({ top_p: 0.5 })).text();
    expect(bodies().at(-1)).toMatchObject({ top_p: 0.5 });
  });

  it('if the request is refused without it as well', async () => {
    upstream.always(json({ error: { message: "Unsupported parameter: 'top_p'." } }, { status: 400 }));
    expect((await ask({ top_p: 0.5 })).status).toBe(400);
    expect(bodies()).toHaveLength(2);
    refusing();
    await (await ask({ top_p: 0.5 })).text();
    expect(bodies().at(-1)).toMatchObject({ top_p: 0.5 });
  });
});

it.each([false, true])('is counted, streamed: %s', async (stream) => {
  const other = await testGateway(config());
  refusing('top_p');
  const response = await other.post('/responses', { model: 'acme/counted', input: 'Hi', top_p: 0.7, stream });
  expect(await response.text()).toContain('Hello.');
  const metrics = await (await fetch(`${other.url}/metrics`)).text();
  expect(metrics).toMatch(/^headgate_learned_rules_total\{model="acme\/\*",provider="acme",refused="top_p"\} 1$/m);
  await other.close();
});
