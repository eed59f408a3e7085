import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Lab, openLab, stream, streamFrames, wholeBody } from './lab.ts';
import { settleHabits } from '../../src/requests/chat/settle-habits.ts';
import { json } from '../../src/testing/scripted-responses.ts';

/*
 * Bodies of editors that mix the shapes of several APIs.
 * Sources: gabrii/Cursor-Azure-GPT-5#69, Soju06/codex-lb#833, automazeio/vibeproxy#411
 */

let lab: Lab;
beforeAll(async () => {
  lab = await openLab();
  lab.upstream.always(({ body }) =>
    (body as { stream?: boolean }).stream
      ? stream('openai-chat', streamFrames('openai-chat'))
      : json(wholeBody('openai-chat')),
  );
});
afterAll(() => lab.close());

const png = 'iVBORw0KGgo=';
const parameters = { type: 'object', properties: {} };
const flat = { type: 'function', name: 'f', description: 'Does f.', parameters };
const nested = { type: 'function', function: { name: 'f', description: 'Does f.', parameters } };

async function post(body: object) {
  const response = await lab.gateway.post('/chat/completions', { model: 'openai-chat/patient', ...body });
  const text = await response.text();
  return { status: response.status, text, sent: lab.upstream.requests.at(-1)!.body as Record<string, unknown> };
}

describe('POST /chat/completions with shapes of other APIs', () => {
  it.each([false, true])('reads a body of the Responses API, stream %s', async (isStream) => {
    const input = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'Done.' },
    ];
    const { status, text, sent } = await post({ input, tools: [flat], stream: isStream });
    expect(status).toBe(200);
    expect(text).toContain(isStream ? '"chat.completion.chunk"' : '"chat.completion"');
    expect(sent).toMatchObject({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi' },
        { role: 'assistant', tool_calls: [{ id: 'c' }] },
        { role: 'tool', tool_call_id: 'c', content: 'Done.' },
      ],
      tools: [nested],
    });
  });

  it('reads parts and flat tools of the Responses API', async () => {
    const messages = [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Look.' },
          { type: 'input_image', image_url: `data:image/png;base64,${png}`, detail: 'auto' },
        ],
      },
      { role: 'assistant', content: [{ type: 'output_text', text: 'Yes.', annotations: [] }] },
      { role: 'user', content: [{ type: 'input_text', text: 'Go on.' }] },
    ];
    const { status, sent } = await post({ messages, tools: [flat], tool_choice: { type: 'function', name: 'f' } });
    expect(status).toBe(200);
    expect(sent).toMatchObject({
      messages: [
        {
          content: [
            { type: 'text', text: 'Look.' },
            { type: 'image_url', image_url: { url: expect.any(String) } },
          ],
        },
        { role: 'assistant', content: 'Yes.' },
        { content: 'Go on.' },
      ],
      tools: [nested],
      tool_choice: { type: 'function', function: { name: 'f' } },
    });
  });

  it('reads blocks and tools of the Messages API', async () => {
    const messages = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'word '.repeat(20_000) },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I call it.' },
          { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'Done.' }] },
          { type: 'text', text: 'And now?' },
        ],
      },
    ];
    const tools = [{ name: 'f', description: 'Does f.', input_schema: parameters }];
    lab.upstream.respond(json({ error: { message: 'Down.' } }, { status: 500 })); // the input is read again
    const { status, sent } = await post({
      messages,
      tools,
      tool_choice: { type: 'any' },
      models: ['openai-chat/hasty'],
    });
    expect(status).toBe(200);
    expect(sent).toMatchObject({
      messages: [
        { content: [{ type: 'text' }, { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } }] },
        {
          role: 'assistant',
          content: 'I call it.',
          tool_calls: [{ id: 'toolu_1', function: { name: 'f', arguments: '{"a":1}' } }],
        },
        { role: 'tool', tool_call_id: 'toolu_1', content: 'Done.' },
        { role: 'user', content: 'And now?' },
      ],
      tools: [nested],
      tool_choice: 'required',
    });
  });

  // https://github.com/BerriAI/litellm/issues/25669
  it.each([
    false,
    true,
  ])('reads calls and results of the Messages API in an ordinary body, stream %s', async (isStream) => {
    const messages = [
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'Sunny.' }] },
    ];
    const { status, sent } = await post({ messages, tools: [nested], stream: isStream });
    expect(status).toBe(200);
    expect(sent['messages']).toMatchObject([
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [{ id: 'toolu_1', function: { name: 'f', arguments: '{"a":1}' } }],
      },
      { role: 'tool', tool_call_id: 'toolu_1', content: 'Sunny.' },
    ]);
  });

  it('rejects a call of the Messages API in a message of the user', async () => {
    const messages = [{ role: 'user', content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }] }];
    const { status, text } = await post({ messages });
    expect(status).toBe(400);
    expect(text).toContain('messages[0].content[0]');
  });

  // https://github.com/run-llama/llama_index/issues/20501, https://github.com/jwadow/kiro-gateway/pull/49
  it('reads flat files, and flat functions with the schema of the Messages API', async () => {
    const file = { file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'a.pdf' };
    const messages = [
      {
        role: 'user',
        content: [
          { type: 'file', ...file },
          { type: 'text', text: 'Hi' },
        ],
      },
    ];
    const tools = [{ type: 'function', name: 'f', description: 'Does f.', input_schema: parameters }];
    const { status, sent } = await post({ messages, tools });
    expect(status).toBe(200);
    expect(sent).toMatchObject({ messages: [{ content: [{ type: 'file', file }, {}] }], tools: [nested] });
    const empty = [{ role: 'user', content: [{ type: 'file' }] }];
    expect((await post({ messages: empty })).status).toBe(400);
  });

  // https://github.com/openai/openai-agents-python/pull/1513, https://github.com/laravel/ai/pull/324
  it.each(['openai-chat', 'openai-responses'] as const)('names a file without a name for %s', async (wire) => {
    const file = { file_data: 'data:application/pdf;base64,JVBERi0=' };
    lab.upstream.respond(json(wholeBody(wire)));
    const { status, sent } = await post({
      model: `${wire}/patient`,
      messages: [{ role: 'user', content: [{ type: 'file', file }] }],
    });
    expect(status).toBe(200);
    expect(JSON.stringify(sent)).toContain('"filename":"document.pdf"');
  });

  it('names fields as the client does', async () => {
    const content = [{ type: 'input_text', text: 'Hi', cache_control: { type: 'ephemeral' } }];
    const body = { model: 'openai-chat/patient', messages: [{ role: 'user', content }], tools: [flat] };
    const response = await lab.gateway.post('/chat/completions', body);
    expect(response.headers.get('x-router-dropped-fields')).toBe('messages[0].content[0].cache_control');
  });

  it('rejects what has no meaning here', async () => {
    const messages = [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'x' } }] }];
    expect((await post({ messages })).status).toBe(400);
  });

  it('reads habits of small clients', async () => {
    const { status, text, sent } = await post({
      messages: [
        { role: 'user', content: [{ type: 'image_url', image_url: `data:image/png;base64,${png}` }] },
        {
          role: 'assistant',
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: { a: 1 } } }],
        },
        { role: 'tool', tool_call_id: 'c', content: { b: [2] } },
      ],
      tools: [{ function: { name: 'f', parameters } }],
      tool_choice: { function: { name: 'f' } },
      metadata: { tags: ['a'], count: 1, none: null },
      max_tokens: -1,
      stop: ['', 'END'],
      response_format: { type: 'json_schema', schema: parameters },
    });
    expect([status, text]).toEqual([200, expect.any(String)]);
    expect(sent).toMatchObject({
      messages: [
        { content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } }] },
        { tool_calls: [{ function: { arguments: '{"a":1}' } }] },
        { role: 'tool', content: '{"b":[2]}' },
      ],
      tools: [{ type: 'function', function: { name: 'f' } }],
      tool_choice: { type: 'function', function: { name: 'f' } },
      stop: ['END'],
      response_format: { type: 'json_schema', json_schema: { name: 'response', schema: parameters } },
    });
    expect(sent).not.toHaveProperty('max_tokens');
    expect(
      (await post({ messages: [{ role: 'user', content: 'a' }], tools: [nested], tool_choice: 'any' })).sent,
    ).toMatchObject({
      tool_choice: 'required',
    });
  });
});

describe('POST /responses with shapes of chat completions', () => {
  it('reads parts, nested tools, choices and objects, also for a second endpoint', async () => {
    lab.upstream.respond(json({ error: { message: 'Down.' } }, { status: 500 })); // the input is read again
    const response = await lab.gateway.post('/responses', {
      models: ['openai-chat/patient', 'openai-chat/hasty'],
      input: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look.' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${png}`, detail: 'low' } },
          ],
        },
        { role: 'assistant', content: [{ type: 'text', text: 'Yes.' }] },
        { type: 'function_call', call_id: 'c', name: 'f', arguments: { a: 1 } },
        { type: 'function_call_output', call_id: 'c', output: { b: 2 } },
      ],
      tools: [nested],
      tool_choice: { type: 'function', function: { name: 'f' } },
    });
    expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
    expect(lab.upstream.requests.at(-1)!.body).toMatchObject({
      messages: [
        {
          content: [
            { type: 'text', text: 'Look.' },
            { type: 'image_url', image_url: { detail: 'low' } },
          ],
        },
        { role: 'assistant', content: 'Yes.', tool_calls: [{ function: { arguments: '{"a":1}' } }] },
        { role: 'tool', content: '{"b":2}' },
      ],
      tools: [nested],
      tool_choice: { type: 'function', function: { name: 'f' } },
    });
  });
});

it('POST /responses rejects a conversation, which would be lost', async () => {
  const body = { model: 'openai-chat/patient', input: 'And then?' };
  const response = await lab.gateway.post('/responses', { ...body, conversation: { id: 'conv_1' } });
  expect(response.status).toBe(400);
  expect(await response.text()).toContain('send the whole conversation in `input`');
  expect((await lab.gateway.post('/responses', { ...body, conversation: null })).status).toBe(200);
});

describe('settings of other servers', () => {
  const read = (fields: object) => {
    const body = { messages: [{ role: 'user', content: 'a' }], ...fields };
    settleHabits(body);
    settleHabits(body);
    const { messages: _, ...rest } = body;
    return rest;
  };
  it.each([
    [{ thinking: { type: 'enabled', budget_tokens: 2000 } }, { max_tokens: 2000 }],
    [{ thinking: { type: 'adaptive' } }, { enabled: true }],
    [{ thinking: { type: 'disabled' } }, { enabled: false }],
    [{ enable_thinking: false, thinking_budget: 100 }, { enabled: false }],
    [{ enable_thinking: true, thinking_budget: 100 }, { max_tokens: 100 }],
    [{ chat_template_kwargs: { enable_thinking: false } }, { enabled: false }],
    [{ extra_body: { enable_thinking: false } }, { enabled: false }],
    [{ extra_body: { google: { thinking_config: { thinking_budget: 0 } } } }, { enabled: false }],
  ])('are the reasoning of a request: %j', (fields, reasoning) => {
    expect(read(fields)).toEqual({ reasoning });
  });

  it('leave what they do not mean', () => {
    const kept = { reasoning_effort: 'low', thinking: { type: 'disabled' } };
    expect(read(kept)).toEqual(kept);
    expect(read({ chat_template_kwargs: { enable_thinking: true, a: 1 } })).toEqual({
      reasoning: { enabled: true },
      chat_template_kwargs: { a: 1 },
    });
    expect(read({ extra_body: { top_k: 2, model: 'x' }, model: 'y' })).toEqual({ top_k: 2, model: 'y' });
  });

  it('are schemas and cache marks at their place', () => {
    const mark = { type: 'ephemeral' };
    const body: Record<string, unknown> = {
      messages: [
        { role: 'system', content: 'a', cache_control: mark },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'b' },
            { type: 'image_url', image_url: { url: 'u' } },
          ],
          cache_control: mark,
        },
      ],
      response_format: { type: 'json_object', schema: parameters },
    };
    settleHabits(body);
    expect(body).toEqual({
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'a', cache_control: mark }] },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'b', cache_control: mark },
            { type: 'image_url', image_url: { url: 'u' } },
          ],
        },
      ],
      response_format: { type: 'json_schema', json_schema: { name: 'response', schema: parameters } },
    });
  });
});
