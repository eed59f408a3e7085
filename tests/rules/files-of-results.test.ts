import { afterAll, beforeAll, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';

let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  const message = { role: 'assistant', content: 'ok' };
  upstream.always(
    json({ id: 'c', object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }] }),
  );
  gateway = await testGateway({
    providers: [
      { id: 'c', wire: 'openai-chat', base_url: upstream.url, models: [{ model: 'c/*', upstream_model: '*' }] },
    ],
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const data = Buffer.from('%PDF-1.4').toString('base64');
const document = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } };
const file = { type: 'file', file: { file_data: `data:application/pdf;base64,${data}`, filename: 'document.pdf' } };

// https://github.com/BerriAI/litellm/pull/38251
it.each([
  ['with a text', [{ type: 'text', text: 'PDF file read' }, document], 'PDF file read'],
  ['alone', [document], '(The file is in the next message.)'],
])('a file of a result follows in a message of the user, where results are texts: %s', async (_, content, text) => {
  const response = await gateway.post('/messages', {
    model: 'c/gpt-4o',
    max_tokens: 100,
    messages: [
      { role: 'user', content: 'Read it.' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'Read', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content }] },
    ],
  });
  expect(response.status).toBe(200);
  const { messages } = upstream.requests.at(-1)!.body as { messages: object[] };
  expect(messages.slice(2)).toEqual([
    { role: 'tool', tool_call_id: 'toolu_1', content: text },
    { role: 'user', content: [file] },
  ]);
});
