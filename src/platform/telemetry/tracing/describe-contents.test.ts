import { describe, expect, it } from 'vitest';
import { describeContents } from './describe-contents.ts';

const read = (input: object, output: object[], outcome: 'completed' | 'incomplete' = 'completed', error?: object) => {
  const parts = {
    input: JSON.stringify(input),
    output: JSON.stringify(output),
    error: error ? JSON.stringify(error) : null,
    isCut: false,
  };
  const attributes = describeContents(parts, { outcome });
  return Object.fromEntries(Object.entries(attributes).map(([name, text]) => [name, JSON.parse(text as string)]));
};
const text = (content: string) => ({ type: 'text', content });

describe('the contents of a span', () => {
  it('are messages of the GenAI conventions', () => {
    const items = [
      { type: 'message', role: 'developer', content: 'Be polite.' },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'Hi' },
          { type: 'input_image', bytes: 3 },
        ],
      },
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'I look it up.' }] },
      { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"city":"Bern"}' },
      { type: 'function_call_output', call_id: 'c1', output: 'rain' },
      { type: 'cut', entries: 4 },
    ];
    const output = [
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'It rains.' }] },
      { type: 'mcp_call', server_label: 's', name: 'umbrella', arguments: '{}', output: 'open' },
      { type: 'function_call', call_id: 'c2', name: 'stop', arguments: '{}' },
    ];
    expect(read({ instructions: 'Be brief.', items, tools: ['weather'] }, output)).toEqual({
      'gen_ai.system_instructions': [text('Be brief.')],
      'gen_ai.input.messages': [
        { role: 'system', parts: [text('Be polite.')] },
        { role: 'user', parts: [text('Hi'), { type: 'input_image', bytes: 3 }] },
        { role: 'assistant', parts: [{ type: 'reasoning', content: 'I look it up.' }] },
        { role: 'assistant', parts: [{ type: 'tool_call', id: 'c1', name: 'weather', arguments: '{"city":"Bern"}' }] },
        { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c1', response: 'rain' }] },
        { role: 'assistant', parts: [{ type: 'cut', entries: 4 }] },
      ],
      'gen_ai.output.messages': [
        {
          role: 'assistant',
          parts: [
            text('It rains.'),
            { type: 'tool_call', name: 'umbrella', arguments: '{}' },
            { type: 'tool_call_response', response: 'open' },
            { type: 'tool_call', id: 'c2', name: 'stop', arguments: '{}' },
          ],
          finish_reason: 'tool_call',
        },
      ],
    });
  });

  it('describe texts that are not kept by their size', () => {
    const items = [
      { type: 'message', role: 'user', omitted_characters: 12 },
      { type: 'function_call', call_id: 'c', omitted_characters: 9 },
    ];
    expect(read({ instructions: { omitted_characters: 5 }, items }, [])).toEqual({
      'gen_ai.system_instructions': [{ type: 'omitted', characters: 5 }],
      'gen_ai.input.messages': [
        { role: 'user', parts: [{ type: 'omitted', characters: 12 }] },
        { role: 'assistant', parts: [{ type: 'tool_call', id: 'c', arguments: { omitted_characters: 9 } }] },
      ],
      'gen_ai.output.messages': [],
    });
  });

  it.each([
    ['stop', 'completed', undefined],
    ['length', 'incomplete', undefined],
    ['error', 'completed', { code: 502 }],
  ] as const)('end with %s', (reason, outcome, error) => {
    const output = [{ type: 'message', role: 'assistant', content: 'Hello' }];
    expect(read({ items: [] }, output, outcome, error)).toMatchObject({
      'gen_ai.output.messages': [{ role: 'assistant', parts: [text('Hello')], finish_reason: reason }],
    });
  });
});
