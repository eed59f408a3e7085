import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Lab, openLab, stream, streamFrames, wholeBody } from './lab.ts';
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
});

it('GET /models has an empty list of models for Codex, which keeps its own', async () => {
  const response = await lab.gateway.get('/models?client_version=0.147.0');
  expect([response.status, await response.json()]).toMatchObject([200, { object: 'list', models: [] }]);
});

it('POST /responses/compact says how Codex shortens a conversation itself', async () => {
  const response = await lab.gateway.post('/responses/compact', { model: 'openai-chat/patient', input: [] });
  expect([response.status, await response.text()]).toEqual([404, expect.stringContaining('is not OpenAI')]);
});
