import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, sse } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';

let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await testGateway({
    providers: [
      { id: 'up', wire: 'openai-chat', base_url: upstream.url, models: [{ model: 'up/*', upstream_model: '*' }] },
    ],
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const usage = { prompt_tokens: 5, completion_tokens: 7 };
const pieces = ['<th', 'ink>\nThe sky', ' is clear.', '\n</thi', 'nk>', '\n\nIt is', ' <think>sunny</think>.'];
const whole = () =>
  json({
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: pieces.join('') } }],
    usage,
  });
const streamed = () =>
  sse(
    [
      ...pieces.map((content) => ({ choices: [{ index: 0, delta: { content } }] })),
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage },
    ],
    { done: true },
  );

interface Item {
  type: string;
  content: { text: string }[];
}

describe.each([false, true])('reasoning between tags, streamed: %s', (stream) => {
  const ask = async (model: string): Promise<Item[]> => {
    upstream.always(stream ? streamed() : whole());
    const body = { model, input: 'How is the weather?' };
    if (stream) {
      const { events } = await gateway.stream(body);
      return (events.at(-1) as unknown as { response: { output: Item[] } }).response.output;
    }
    return ((await (await gateway.post('/responses', body)).json()) as { output: Item[] }).output;
  };

  it('is an item of its own', async () => {
    const [reasoning, message] = await ask('up/deepseek-r1');
    expect(reasoning).toMatchObject({
      type: 'reasoning',
      content: [{ text: expect.stringContaining('The sky is clear.') }],
    });
    expect(message).toMatchObject({ type: 'message', content: [{ text: 'It is <think>sunny</think>.' }] });
  });

  it('is text of models that are not known to send it', async () => {
    expect(await ask('up/gpt-4o')).toMatchObject([{ type: 'message', content: [{ text: pieces.join('') }] }]);
  });
});
