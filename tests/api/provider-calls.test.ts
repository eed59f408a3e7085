import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, sse } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { providerKey } from './lab.ts';

/*
 * xAI reports the steps of its own searches as calls of custom tools, and leaves out fields of calls and citations.
 *
 * @see https://docs.x.ai/docs/guides/tools/overview
 */

let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await testGateway({
    providers: [
      {
        id: 'xai',
        wire: 'openai-responses',
        base_url: upstream.url,
        api_key: providerKey,
        models: [{ model: 'x-ai/grok-4' }],
      },
    ],
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const search = {
  id: 'ctc_1',
  type: 'custom_tool_call',
  status: 'completed',
  call_id: 'xs_call_1',
  name: 'x_keyword_search',
  input: '{"query":"headgate"}',
};
const own = { ...search, id: 'ctc_2', call_id: 'call_2', name: 'sql', input: 'SELECT 1' };
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [
    { type: 'output_text', text: 'Found it.', annotations: [{ type: 'url_citation', url: 'https://x.com/a' }] },
  ],
};

/** The response of the provider, as it was requested. */
function answer(...output: Record<string, unknown>[]): void {
  const response = { id: 'resp_1', object: 'response', status: 'completed', model: 'grok-4', output };
  upstream.always(({ body }) => {
    if (!(body as { stream?: boolean }).stream) return json(response);
    const started = { ...response, status: 'in_progress', output: [] };
    return sse([
      { type: 'response.created', response: started },
      ...output.flatMap((item, output_index) => [
        { type: 'response.output_item.added', output_index, item: { ...item, input: '', content: [] } },
        ...(typeof item['input'] === 'string'
          ? [{ type: 'response.custom_tool_call_input.delta', output_index, item_id: item['id'], delta: item['input'] }]
          : []),
        { type: 'response.output_item.done', output_index, item },
      ]),
      { type: 'response.completed', response },
    ]);
  });
}

const user = [{ role: 'user', content: 'Search' }];
const sqlTool = { type: 'custom', name: 'sql' };
const apis = [
  ['/chat/completions', { messages: user, tools: [{ type: 'custom', custom: { name: 'sql' } }] }],
  ['/messages', { messages: user, max_tokens: 100 }],
] as const;

describe.each(apis)('a call that the provider has run, on %s', (path, body) => {
  it.each([false, true])('is left out and named with stream %j', async (stream) => {
    answer(search, message);
    const response = await gateway.post(
      path,
      { model: 'x-ai/grok-4', ...body, stream },
      { headers: { 'x-router-metadata': 'enabled' } },
    );
    const text = await response.text();
    expect(response.status, text).toBe(200);
    expect(text).toContain('Found it.');
    expect(text).not.toMatch(/xs_call_1|tool_calls"[:,]"?\w|"tool_use"/);
    expect(text).toContain('"dropped_upstream_fields":["output[] (custom_tool_call x_keyword_search)"]');
    expect(text).toMatch(/"finish_reason":"stop"|"stop_reason":"end_turn"/);
  });
});

it('a call that the provider has run, of the Gemini API, is left out', async () => {
  answer(search, message);
  const response = await fetch(`${gateway.url}/api/v1beta/models/x-ai/grok-4:generateContent`, {
    method: 'POST',
    body: JSON.stringify({ contents: [{ parts: [{ text: 'Search' }] }] }),
    headers: { 'x-goog-api-key': gateway.key, 'content-type': 'application/json' },
  });
  const text = await response.text();
  expect(text).toContain('Found it.');
  expect(text).not.toContain('functionCall');
});

describe('a call of a custom tool', () => {
  it('reaches a chat client that offered it', async () => {
    answer(search, own);
    const [[, body]] = apis;
    const whole = await gateway.post('/chat/completions', { model: 'x-ai/grok-4', ...body });
    expect(await whole.json()).toMatchObject({
      choices: [
        {
          finish_reason: 'tool_calls',
          message: { tool_calls: [{ id: 'call_2', type: 'custom', custom: { name: 'sql', input: 'SELECT 1' } }] },
        },
      ],
    });
    const streamed = await gateway.post('/chat/completions', { model: 'x-ai/grok-4', ...body, stream: true });
    const text = await streamed.text();
    // The form that the types of the openai client have for a streamed call.
    expect(text).toContain('"tool_calls":[{"index":0,"id":"call_2","type":"custom","custom":{"name":"sql","input":""');
    expect(text).toContain('"tool_calls":[{"index":0,"custom":{"input":"SELECT 1"}}]');
  });

  it.each([false, true])('passes to clients of responses unchanged with stream %j', async (stream) => {
    answer(search, own);
    const body = { model: 'x-ai/grok-4', input: 'Search', tools: [sqlTool], stream };
    const text = await (await gateway.post('/responses', body)).text();
    expect(text).toContain('"name":"x_keyword_search"');
    expect(text).toContain('"name":"sql"');
  });
});

describe('fields that typed clients of responses require', () => {
  it.each([false, true])('are added to citations and calls with stream %j', async (stream) => {
    answer(
      { id: 'ws_1', type: 'web_search_call', status: 'completed' },
      { id: 'fs_1', type: 'file_search_call', status: 'completed' },
      { id: 'ci_1', type: 'code_interpreter_call', status: 'completed', code: '1' },
      message,
    );
    const text = await (await gateway.post('/responses', { model: 'x-ai/grok-4', input: 'Search', stream })).text();
    const events = text.split('\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []));
    const { output } = stream ? events.at(-1).response : JSON.parse(text);
    expect(output).toMatchObject([
      { action: { type: 'search', query: '' } },
      { queries: [] },
      { code: '1', container_id: '', outputs: null },
      { content: [{ annotations: [{ url: 'https://x.com/a', title: '', start_index: 0, end_index: 0 }] }] },
    ]);
  });
});
