import { afterAll, expect, it } from 'vitest';
import { openRecordings } from './open-recordings.ts';

const lab = await openRecordings(['openai-chat', 'openai-responses', 'anthropic-messages', 'gemini']);
afterAll(() => lab.close());

interface Frame {
  type: string;
  index: number;
  content_block?: { type: string; input?: unknown };
  delta?: { type: string; partial_json?: string };
}

async function stream(model: string): Promise<Frame[]> {
  const response = await fetch(`${lab.gateway.baseUrl}/messages`, {
    method: 'POST',
    headers: { 'x-api-key': lab.gateway.key, 'content-type': 'application/json' },
    body: JSON.stringify({ model, max_tokens: 500, stream: true, messages: [{ role: 'user', content: 'Hello' }] }),
  });
  const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data: '));
  return lines.map((line) => JSON.parse(line.slice('data: '.length)) as Frame);
}

// The accumulators of some clients reject a call without a delta, and others ignore the input of the first event.
it.each([
  'openai-chat/tool-call',
  'openai-responses/mcp',
  'openai-responses/code-interpreter',
  'anthropic-messages/tool-call',
  'gemini/tool-call',
])('streams the input of a call as deltas: %s', async (model) => {
  const frames = await stream(model);
  const calls = frames.filter(({ content_block: block }) => block?.type.endsWith('tool_use'));
  expect(calls).not.toEqual([]);
  for (const { index, content_block: block } of calls) {
    const deltas = frames.filter((frame) => frame.index === index && frame.delta?.type === 'input_json_delta');
    expect(block?.input).toEqual({});
    expect(deltas.length).toBeGreaterThan(0);
    const text = deltas.map(({ delta }) => delta?.partial_json).join('');
    expect(JSON.parse(text || '{}')).toBeTypeOf('object');
  }
});
