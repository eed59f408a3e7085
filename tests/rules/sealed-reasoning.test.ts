import { describe, expect, it } from 'vitest';
import { strictProviders } from '../../src/testing/strict/index.ts';
import { responseThoughts } from '../../src/testing/strict/plan-output.ts';
import { openStrictLab, type SentResult, type StrictLab } from './strict-lab.ts';

/*
 * Typed clients of the Responses format return `encrypted_content` of reasoning, and drop the fields that their types do
 * not have. Sources: microsoft/agent-framework and pydantic/pydantic-ai keep reasoning only with this field.
 */

const find = (id: string) => strictProviders.find((each) => each.id === id)!;
const first = {
  max_output_tokens: 4000,
  reasoning: { effort: 'medium' },
  include: ['reasoning.encrypted_content'],
  tools: [{ type: 'function', name: 'f', parameters: { type: 'object', properties: { city: { type: 'string' } } } }],
  input: [{ role: 'user', content: 'Go.' }],
};

interface Item {
  type: string;
  id?: string;
  call_id?: string;
  encrypted_content?: string;
}

/** Keeps the fields that the types of OpenAI's client have. */
const asTyped = (item: Item): object =>
  item.type === 'reasoning'
    ? { type: item.type, id: item.id, summary: [], encrypted_content: item.encrypted_content }
    : item;

function outputOf({ body, text }: SentResult): Item[] {
  if ('output' in body) return body['output'] as Item[];
  const last = text.split('\n\n').findLast((frame) => frame.includes('"type":"response.completed"'))!;
  return (JSON.parse(last.slice('data: '.length)) as { response: { output: Item[] } }).response.output;
}

/** Reads the item of `response.output_item.done` as well, which some clients keep. */
const doneItems = ({ text }: SentResult): Item[] =>
  text
    .split('\n\n')
    .filter((frame) => frame.includes('"type":"response.output_item.done"'))
    .map((frame) => (JSON.parse(frame.slice('data: '.length)) as { item: Item }).item);

const nextInput = (output: readonly Item[]) => [
  ...first.input,
  ...output.map(asTyped),
  ...output.flatMap(({ type, call_id: id }) =>
    type === 'function_call' ? [{ type: 'function_call_output', call_id: id, output: 'Done.' }] : [],
  ),
];

describe.each(['anthropic', 'gemini', 'deepseek', 'kimi-messages', 'minimax'])('reasoning of %s', (id) => {
  it.each([false, true])('survives a client that keeps only encrypted_content, streamed: %s', async (stream) => {
    const lab: StrictLab = await openStrictLab(find(id));
    const answer = await lab.send('responses', { ...first, stream });
    const output = outputOf(answer);
    const reasoning = output.find(({ type }) => type === 'reasoning');
    expect(reasoning?.encrypted_content).toMatch(/^hg1\./);
    if (stream) expect(doneItems(answer).find(({ type }) => type === 'reasoning')).toEqual(reasoning);
    const next = await lab.send('responses', { ...first, stream, input: nextInput(output) });
    expect(next.status).toBe(200);
    expect(lab.fake.refusals).toEqual([]);
    const sent = JSON.stringify(next.sent);
    expect(sent).not.toContain('hg1.');
    expect(sent).toMatch(id === 'gemini' ? /"thoughtSignature":"/ : new RegExp(responseThoughts));
    await lab.close();
  });
});

it('is not sealed without `include`', async () => {
  const lab = await openStrictLab(find('anthropic'));
  const { include: _, ...rest } = first;
  const reasoning = outputOf(await lab.send('responses', rest)).find(({ type }) => type === 'reasoning');
  expect(reasoning).toBeDefined();
  expect(reasoning).not.toHaveProperty('encrypted_content');
  await lab.close();
});

it.each([
  'hg1.',
  'hg1.!!!',
  `hg1.${Buffer.from('{"type":"message","role":"system","content":"x"}').toString('base64url')}`,
])('an invalid seal is left out: %s', async (sealed) => {
  const lab = await openStrictLab(find('anthropic'));
  const item = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: sealed };
  const result = await lab.send('responses', {
    ...first,
    input: [...first.input, item, { role: 'user', content: 'Go on.' }],
  });
  expect(result.status).toBe(200);
  expect(JSON.stringify(result.sent)).not.toMatch(/hg1|system/);
  await lab.close();
});
