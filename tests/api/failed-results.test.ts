import { afterAll, beforeAll, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { provider, wholeBody, wireNames } from './lab.ts';

/** The result of a call that failed, in each format: https://github.com/mozilla-ai/any-llm/issues/1311. */

let upstream: ScriptedUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startUpstream();
  upstream.always(({ path }) => {
    if (path.endsWith('/messages')) return json({ type: 'message', content: [said], stop_reason: 'end_turn' });
    if (path.includes(':generate'))
      return json({ candidates: [{ content: { parts: [{ text: 'Done.' }] }, finishReason: 'STOP' }] });
    return json(wholeBody(path.endsWith('/responses') ? 'openai-responses' : 'openai-chat'));
  });
  gateway = await testGateway({ providers: wireNames.map((wire) => provider(wire, 'm', upstream)) });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const said = { type: 'text', text: 'Done.' };
const image = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' };
const sent = () => upstream.requests.at(-1)!.body as Record<string, never>;

/** Sends a result of the Messages format. */
async function sendResult(wire: string, result: object) {
  const response = await gateway.post('/messages', {
    model: `${wire}/m`,
    max_tokens: 100,
    messages: [
      { role: 'user', content: 'Go.' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'read', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', is_error: true, ...result }] },
    ],
    tools: [{ name: 'read', input_schema: { type: 'object', properties: {} } }],
  });
  await response.text();
  expect(response.status).toBe(200);
  return response.headers.get('x-router-dropped-fields');
}

const text = { type: 'text', text: 'No such file.\nLine 2' };

it.each([
  ['a text', { content: text.text }, 'The call failed.\nNo such file.\nLine 2'],
  ['a block', { content: [text] }, 'The call failed.\nNo such file.\nLine 2'],
  ['nothing', {}, 'The call failed.'],
])('is in words for a chat server: %s', async (_, result, content) => {
  expect(await sendResult('openai-chat', result)).toBeNull();
  expect(sent()['messages']![2]).toEqual({ role: 'tool', tool_call_id: 'toolu_1', content });
});

it('is in words for a Responses server', async () => {
  expect(await sendResult('openai-responses', { content: [text, { type: 'image', source: image }] })).toBeNull();
  expect(sent()['input']![2]).toEqual({
    type: 'function_call_output',
    call_id: 'toolu_1',
    output: [
      { type: 'input_text', text: 'The call failed.' },
      { type: 'input_text', text: text.text },
      { type: 'input_image', image_url: `data:image/png;base64,${image.data}` },
    ],
  });
});

it.each([
  ['a text', { content: text.text }, text.text],
  ['an object', { content: '{"output":"x"}' }, '{"output":"x"}'],
  ['nothing', { content: [] }, 'The call failed.'],
])('is the error of a result of Gemini: %s', async (_, result, error) => {
  expect(await sendResult('gemini', result)).toBeNull();
  expect(sent()['contents']![2]).toEqual({
    role: 'user',
    parts: [{ functionResponse: { id: 'toolu_1', name: 'read', response: { error } } }],
  });
});

it('keeps an image beside the error of Gemini', async () => {
  await sendResult('gemini', { content: [text, { type: 'image', source: image }] });
  expect(sent()['contents']![2]).toMatchObject({
    parts: [
      { functionResponse: { response: { error: text.text } } },
      { inlineData: { mimeType: 'image/png', data: image.data } },
    ],
  });
});

it('is unchanged for Claude', async () => {
  expect(await sendResult('anthropic-messages', { content: text.text })).toBeNull();
  expect(sent()['messages']![2]).toEqual({
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'toolu_1', is_error: true, content: text.text }],
  });
});

/** Sends a result of the Gemini API. */
async function sendResponse(wire: string, response: object) {
  await gateway.post(`/api/v1beta/models/${wire}/m:generateContent`, {
    contents: [
      { role: 'user', parts: [{ text: 'Go.' }] },
      { role: 'model', parts: [{ functionCall: { id: 'c1', name: 'read', args: {} } }] },
      { role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'read', response } }] },
    ],
    tools: [{ functionDeclarations: [{ name: 'read' }] }],
  });
}

it.each([
  [{ error: 'No such file.' }, { is_error: true, content: 'No such file.' }],
  [{ error: { code: 5 } }, { is_error: true, content: '{"code":5}' }],
  [{ error: 'No.', output: 'x' }, { content: '{"error":"No.","output":"x"}' }],
  [{ output: 'x' }, { content: 'x' }],
])('of the Gemini API is one of Claude: %j', async (response, block) => {
  await sendResponse('anthropic-messages', response);
  expect(sent()['messages']![2]).toEqual({
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'c1', ...block }],
  });
});

it('of the Gemini API stays an object for other models', async () => {
  await sendResponse('openai-chat', { error: 'No such file.' });
  expect(sent()['messages']![2]).toMatchObject({ role: 'tool', content: '{"error":"No such file."}' });
});
