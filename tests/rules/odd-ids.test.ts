import { expect, it, onTestFinished } from 'vitest';
import { json, startUpstream, testGateway } from '../../src/testing/index.ts';
import { strictProviders } from '../../src/testing/strict/index.ts';
import { plainAnswers } from './plain-answers.ts';
import { openStrictLab } from './strict-lab.ts';

/** OpenAI checks how the ids of items begin. The Agents SDK makes up its own: openai/openai-agents-python#270. */
it('ids of items that OpenAI rejects are not sent to it', async () => {
  const upstream = await startUpstream();
  const gateway = await testGateway({
    providers: [
      {
        id: 'openai',
        same_as: 'openai',
        base_url: upstream.url,
        api_key: 'sk-test',
        models: [{ model: 'openai/*', upstream_model: '*' }],
      },
    ],
  });
  onTestFinished(async () => {
    await gateway.close();
    await upstream.close();
  });
  const starts: Record<string, string> = { message: 'msg', function_call: 'fc', custom_tool_call: 'ctc' };
  upstream.always(({ body }) => {
    const { input } = body as { input: { type: string; id?: string }[] };
    const odd = input.findIndex(({ type, id }) => id !== undefined && !id.startsWith(starts[type] ?? ''));
    if (odd < 0) return plainAnswers['openai-responses']('ok');
    const { type, id } = input[odd]!;
    const message = `Invalid 'input[${odd}].id': '${id}'. Expected an ID that begins with '${starts[type]}'.`;
    return json({ error: { message, type: 'invalid_request_error', code: 'invalid_value' } }, { status: 400 });
  });
  const said = { type: 'message', role: 'assistant', status: 'completed' };
  const response = await gateway.post('/responses', {
    model: 'openai/gpt-5.6',
    input: [
      { role: 'user', content: 'Hi' },
      { ...said, id: '__fake_id__', content: [{ type: 'output_text', text: 'A.', annotations: [] }] },
      { ...said, id: 'msg_1', content: [{ type: 'output_text', text: 'B.', annotations: [] }] },
      { type: 'function_call', id: '__fake_id__', call_id: 'call_1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'Done.' },
      { type: 'custom_tool_call', id: 'call_2', call_id: 'call_2', name: 'g', input: 'x' },
      { type: 'custom_tool_call_output', call_id: 'call_2', output: 'Done.' },
    ],
  });
  expect({ status: response.status, text: await response.text() }).toMatchObject({ status: 200 });
  const { input } = upstream.requests.at(-1)!.body as { input: { id?: string }[] };
  expect(input.map(({ id }) => id)).toEqual([
    undefined,
    undefined,
    'msg_1',
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

it('ids of items that are longer than 64 characters are not sent back', async () => {
  const lab = await openStrictLab(strictProviders.find(({ id }) => id === 'openai-responses')!);
  onTestFinished(() => lab.close());
  const long = (start: string) => `${start}_${'a'.repeat(188)}`; // anomalyco/opencode#26510
  const { status, text, sent } = await lab.send('responses', {
    input: [
      { role: 'user', content: 'Hi' },
      { type: 'reasoning', id: long('rs'), summary: [], encrypted_content: 'c2VhbGVk' },
      { type: 'message', id: long('msg'), role: 'assistant', status: 'completed', content: [] },
      { type: 'function_call', id: long('fc'), call_id: long('call'), name: 'f', arguments: '{}' },
      { type: 'function_call_output', id: long('fco'), call_id: long('call'), output: 'Done.' },
    ],
    tools: [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }],
  });
  expect({ status, text }).toMatchObject({ status: 200 });
  expect(JSON.stringify(sent)).not.toContain('a'.repeat(65));
});
