import { describe, expect, it } from 'vitest';
import { hello, writeTo } from '../../../tests/wires/write-to.ts';
import type { InputItem, Tool } from '../../domain/items.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import type { Target } from '../wire.ts';
import { writeRequest } from './request.ts';

const write = writeTo(writeRequest, { upstreamModel: 'one' });
const messages = (input: InputItem[], target?: Partial<Target>) => write({ input }, target).body.messages;

describe('tools', () => {
  const weather: Tool = {
    type: 'function',
    name: 'weather',
    description: 'The weather.',
    parameters: { type: 'object' },
  };
  const group: Tool = {
    type: 'namespace',
    name: 'crm',
    description: 'Customers.',
    tools: [
      { type: 'function', name: 'find', parameters: null, strict: true },
      { type: 'custom', name: 'query', format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' } },
    ],
  };
  const input = {
    type: 'object',
    properties: { input: { type: 'string' } },
    required: ['input'],
    additionalProperties: false,
  };

  it('of all kinds become functions, and the reader learns which to turn back', () => {
    const { body, readerContext } = write({ tools: [weather, group] });
    expect(body.tools).toEqual([
      { type: 'function', function: { name: 'weather', description: 'The weather.', parameters: { type: 'object' } } },
      { type: 'function', function: { name: 'crm__find', description: 'Customers.', strict: true } },
      {
        type: 'function',
        function: {
          name: 'crm__query',
          description: 'Customers.\n\n`input` must match this grammar (lark):\nstart: "x"',
          parameters: input,
        },
      },
    ]);
    expect(readerContext.tools).toEqual(
      new Map([
        ['crm__find', { name: 'find', kind: 'function', namespace: 'crm' }],
        ['crm__query', { name: 'query', kind: 'custom', namespace: 'crm' }],
      ]),
    );
  });

  it('that were called before are called the same in the replay', () => {
    const replayed = messages([
      { type: 'function_call', call_id: 'a', name: 'find', namespace: 'crm', arguments: '' },
      { type: 'custom_tool_call', call_id: 'b', name: 'query', namespace: 'crm', input: 'x "y"' },
      { type: 'custom_tool_call_output', call_id: 'b', output: 'z' },
    ]);
    expect(replayed).toMatchObject([
      {
        tool_calls: [
          { id: 'a', function: { name: 'crm__find', arguments: '{}' } },
          { id: 'b', function: { name: 'crm__query', arguments: '{"input":"x \\"y\\""}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'b', content: 'z' },
    ]);
  });

  it('of additional_tools join the list, or replace what it had', () => {
    const tools: Tool[] = [
      { ...weather, description: 'Newer.' },
      { type: 'function', name: 'now', parameters: null },
    ];
    const { body } = write({
      tools: [weather],
      input: [hello, { type: 'additional_tools', role: 'developer', tools }],
    });
    expect(body.tools).toMatchObject([{ function: { description: 'Newer.' } }, { function: { name: 'now' } }]);
  });

  it.each([
    ['auto', 'auto', 3],
    [{ type: 'function', name: 'weather' }, { type: 'function', function: { name: 'weather' } }, 3],
    [{ type: 'custom', name: 'query' }, { type: 'function', function: { name: 'crm__query' } }, 3],
    [{ type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'weather' }] }, 'required', 1],
    [{ type: 'allowed_tools', mode: 'auto', tools: [{ type: 'namespace', name: 'crm' }] }, 'auto', 2],
  ])('are chosen by %j', (choice, written, count) => {
    const { body } = write({ tools: [weather, group], tool_choice: choice as ResponseRequest['tool_choice'] });
    expect(body.tool_choice).toEqual(written);
    expect(body.tools).toHaveLength(count);
  });

  it('are chosen from a hundred thousand by as many choices, each of them and their group', () => {
    const names = Array.from({ length: 100_000 }, (_, index) => `f${index}`);
    const many: Tool = {
      type: 'namespace',
      name: 'crm',
      description: '',
      tools: names.map((name) => ({ type: 'function', name, parameters: null })),
    };
    const chosen = names.flatMap((name) => [
      { type: 'function', name },
      { type: 'namespace', name: 'crm' },
    ]);
    const choice = { type: 'allowed_tools', mode: 'auto', tools: chosen } as ResponseRequest['tool_choice'];
    expect(write({ tools: [many], tool_choice: choice }).body.tools).toHaveLength(names.length);
  });

  it('that are missing make their settings pointless', () => {
    const { body, dropped } = write({ tool_choice: 'auto', parallel_tool_calls: true });
    expect(Object.keys(body)).toEqual(['model', 'messages']);
    expect(dropped).toEqual(['tool_choice', 'parallel_tool_calls']);
  });

  it('may not share a name upstream', () => {
    expect(() => write({ tools: [group, { ...weather, name: 'crm__find' }] })).toThrow(
      'tools[1].name: two tools would have the name crm__find',
    );
  });

  it('lose what the format has no place for, by name', () => {
    const { dropped } = write({ tools: [{ ...weather, async: true, defer_loading: false }] });
    expect(dropped).toEqual(['tools[0].async']);
  });
});
