import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, type ScriptedUpstream, startUpstream, type TestGateway, testGateway } from '../../src/testing/index.ts';

let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await testGateway({
    providers: [
      { id: 'chat', wire: 'openai-chat', base_url: upstream.url, models: [{ model: 'a/chat' }] },
      { id: 'native', wire: 'openai-responses', base_url: upstream.url, models: [{ model: 'a/native' }] },
    ],
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const broken = 'Here you are:\n```json\n{"city": "Zürich", population: 434000,}\n```';
const plugins = [{ id: 'response-healing' }];
const text = { format: { type: 'json_object' } };

function answer(model: string, content: string, finish = 'stop') {
  const status = finish === 'stop' ? 'completed' : 'incomplete';
  return model === 'a/chat'
    ? json({ model: 'm', choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: finish }] })
    : json({
        id: 'resp_1',
        object: 'response',
        status,
        incomplete_details: finish === 'stop' ? null : { reason: 'max_output_tokens' },
        model: 'm',
        output: [
          {
            id: 'msg_1',
            type: 'message',
            role: 'assistant',
            status,
            content: [{ type: 'output_text', text: content }],
          },
        ],
      });
}

async function ask(model: string, content: string, body: object, finish?: string) {
  upstream.respond(answer(model, content, finish));
  const response = await gateway.post(
    '/responses',
    { model, input: 'Which city?', ...body },
    { headers: { 'x-router-metadata': 'enabled' } },
  );
  const answered = (await response.json()) as {
    output: { content: { text: string }[] }[];
    router_metadata: { pipeline?: object[] };
  };
  return { said: answered.output[0]?.content[0]?.text ?? '', pipeline: answered.router_metadata.pipeline };
}

describe.each(['a/chat', 'a/native'])('response-healing on %s', (model) => {
  it('repairs the JSON of a buffered response with a JSON format, and reports it', async () => {
    const { said, pipeline } = await ask(model, broken, { plugins, text });
    expect(JSON.parse(said)).toEqual({ city: 'Zürich', population: 434000 });
    expect(pipeline).toEqual([
      {
        type: 'response_healing',
        name: 'response-healing',
        summary: expect.any(String),
        data: { mode: 'json_object', improved: true, original_length: broken.length, healed_length: said.length },
      },
    ]);
  });

  it.each([
    ['without the plugin', { text }, undefined],
    ['with the plugin disabled', { plugins: [{ id: 'response-healing', enabled: false }], text }, undefined],
    ['when no JSON was asked for', { plugins }, undefined],
    ['when the token limit cut the answer', { plugins, text }, 'length'],
  ])('keeps the text unchanged %s', async (_when, body, finish) => {
    const { said, pipeline } = await ask(model, broken, body, finish);
    expect(said).toBe(broken);
    expect(pipeline).toBeUndefined();
  });

  it('cuts the JSON out of the text around it, and keeps its shape', async () => {
    for (const [content, whole] of [
      ['{"ok":true}\nThat is all.', '{"ok":true}'],
      ['{"ok":true,}\nThat is all.', '{"ok":true}'],
      ['[1,2]\nThat is all.', '[1,2]'],
    ] as const) {
      expect((await ask(model, content, { plugins, text })).said).toBe(whole);
    }
  });

  it('keeps texts that have different values, and reports them', async () => {
    const content = '{"a":1}\n{"b":2}';
    const { said, pipeline } = await ask(model, content, { plugins, text });
    expect(said).toBe(content);
    expect(pipeline).toMatchObject([{ data: { improved: false, original_length: 15, healed_length: 15 } }]);
  });

  it('prefers the kind of value that the schema has', async () => {
    const content = '{"note":1}\n["a"]';
    const schema = (type: string) => ({ format: { type: 'json_schema', name: 'x', schema: { type } } });
    expect((await ask(model, content, { plugins, text: schema('array') })).said).toBe('["a"]');
    expect((await ask(model, content, { plugins, text: schema('object') })).said).toBe('{"note":1}');
  });

  it('repairs a long text, which a thread does', async () => {
    const rows = Array.from({ length: 10_000 }, (_, id) => ({ id, text: 'a text with some letters, such as these' }));
    const { said, pipeline } = await ask(model, `Sure:\n${JSON.stringify(rows)}\nThat is all.`, { plugins, text });
    expect(JSON.parse(said)).toEqual(rows);
    expect(pipeline).toMatchObject([{ data: { improved: true, healed_length: said.length } }]);
  });

  it('leaves a stream unchanged', async () => {
    upstream.respond(answer(model, broken));
    const response = await gateway.post('/responses', { model, input: 'Which city?', plugins, text, stream: true });
    expect(await response.text()).toContain(JSON.stringify(broken));
  });

  it('adds no stage if the text is valid JSON', async () => {
    const { said, pipeline } = await ask(model, '{"ok": true}', { plugins, text });
    expect(said).toBe('{"ok": true}');
    expect(pipeline).toBeUndefined();
  });
});

it('repairs a chat completion', async () => {
  upstream.respond(answer('a/chat', '{"ok":true}\nThat is all.'));
  const messages = [{ role: 'user', content: 'Is it?' }];
  const body = { model: 'a/chat', messages, plugins, response_format: { type: 'json_object' } };
  const completion = (await (await gateway.post('/chat/completions', body)).json()) as {
    choices: { message: { content: string } }[];
  };
  expect(completion.choices[0]!.message.content).toBe('{"ok":true}');
});
