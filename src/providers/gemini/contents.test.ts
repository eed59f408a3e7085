import { describe, expect, it } from 'vitest';
import { hello, refused, writeTo } from '../../../tests/wires/write-to.ts';
import type { InputItem } from '../../domain/items.ts';
import { writeRequest } from './request.ts';

const write = writeTo(writeRequest, { upstreamModel: 'gemini-2.5-flash' });

const contents = (input: InputItem[], model = 'gemini-2.5-flash') =>
  write({ input }, { upstreamModel: model }).body.contents;

describe('turns', () => {
  it('hold the system text apart, and neighbors of one role together', () => {
    const { body } = write({
      instructions: 'Be brief.',
      input: [
        { type: 'message', role: 'developer', content: 'Be kind.' },
        { type: 'message', role: 'user', content: 'a' },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'b' }] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'c' }] },
        { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'd' }] },
      ],
    });
    expect(body.systemInstruction).toEqual({ parts: [{ text: 'Be brief.' }, { text: 'Be kind.' }] });
    expect(body.contents).toEqual([
      { role: 'user', parts: [{ text: 'a' }, { text: 'b' }] },
      { role: 'model', parts: [{ text: 'c' }, { text: 'd' }] },
    ]);
  });

  it('begin with the system text when there is nothing else', () => {
    const { body } = write({
      instructions: 'Be brief.',
      input: [{ type: 'message', role: 'developer', content: 'Go.' }],
    });
    expect(body).toEqual({ contents: [{ role: 'user', parts: [{ text: 'Be brief.' }, { text: 'Go.' }] }] });
  });

  it('have calls, and results under the name of their call', () => {
    expect(
      contents([
        hello,
        { type: 'function_call', call_id: 'a', name: 'f', arguments: '{"x":1}' },
        { type: 'custom_tool_call', call_id: 'b', name: 'sql', input: 'select 1', namespace: 'db' },
        { type: 'function_call_output', call_id: 'a', output: '{"rows":[1]}' },
        {
          type: 'custom_tool_call_output',
          call_id: 'b',
          output: [
            { type: 'input_text', text: 'two' },
            { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
          ],
        },
      ]),
    ).toEqual([
      { role: 'user', parts: [{ text: 'hello' }] },
      {
        role: 'model',
        parts: [
          { functionCall: { id: 'a', name: 'f', args: { x: 1 } } },
          { functionCall: { id: 'b', name: 'db__sql', args: { input: 'select 1' } } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'a', name: 'f', response: { rows: [1] } } },
          { functionResponse: { id: 'b', name: 'db__sql', response: { output: 'two' } } },
          { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
        ],
      },
    ]);
  });

  it('have a result with a reference as text', () => {
    const output = '{"schema":{"a":{"$ref" : "#/$defs/A"}}}';
    const call = { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' } as const;
    expect(contents([hello, call, { type: 'function_call_output', call_id: 'a', output }])).toMatchObject([
      {},
      {},
      { parts: [{ functionResponse: { response: { output } } }] },
    ]);
  });

  it('go without the ids of calls where the server does not know them', () => {
    const input: InputItem[] = [
      { type: 'function_call', call_id: 'a', name: 'f', arguments: '' },
      { type: 'function_call_output', call_id: 'a', output: 'plain' },
    ];
    expect(write({ input }, { dialect: { call_ids: false } }).body.contents).toEqual([
      { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: 'plain' } } }] },
    ]);
  });

  it('carry arguments that are no object as text, by name', () => {
    const { body, dropped } = write({ input: [{ type: 'function_call', call_id: 'a', name: 'f', arguments: '[1]' }] });
    expect(body.contents).toMatchObject([{ parts: [{ functionCall: { args: { arguments: '[1]' } } }] }]);
    expect(dropped).toEqual(['input[0].arguments (not a JSON object; sent as text)']);
  });

  it('have images generated earlier', () => {
    expect(contents([{ type: 'image_generation_call', id: 'i', result: '/9j/AA' }])).toEqual([
      { role: 'model', parts: [{ inlineData: { mimeType: 'image/jpeg', data: '/9j/AA' } }] },
    ]);
  });

  it.each<[string, InputItem]>([
    ['input[1]', { type: 'item_reference', id: 'msg_1' }],
    ['input[1]', { type: 'mcp_call', id: 'x' }],
    [
      'input[1]',
      { type: 'message', role: 'system', content: [{ type: 'input_image', image_url: 'https://a.example/b' }] },
    ],
    [
      'input[1].content[0].file_id',
      { type: 'message', role: 'user', content: [{ type: 'input_image', file_id: 'f' }] },
    ],
  ])('refuse what the wire has no place for: %s', (path, item) => {
    expect(() => write({ input: [hello, item] })).toThrow(refused(path));
  });
});

describe('signatures that are sent back', () => {
  const seal = (encrypted_content: string): InputItem => ({
    type: 'reasoning',
    summary: [],
    encrypted_content,
    format: 'google-gemini-v1',
  });
  const call = (id: string): InputItem => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' });

  it('are on the part they came with, to the letter', () => {
    expect(
      contents([
        hello,
        { type: 'message', role: 'assistant', content: 'Look.' },
        seal('A+/='),
        call('a'),
        call('b'),
        { type: 'function_call_output', call_id: 'a', output: '' },
        { type: 'message', role: 'assistant', content: 'So.' },
        seal('B+/='),
        hello,
      ]),
    ).toMatchObject([
      {},
      {
        parts: [
          { text: 'Look.' },
          { functionCall: { id: 'a' }, thoughtSignature: 'A+/=' },
          { functionCall: { id: 'b' } },
        ],
      },
      {},
      { parts: [{ text: 'So.' }, { text: '', thoughtSignature: 'B+/=' }] },
      {},
    ]);
  });

  it('are on the image they came with', () => {
    const image: InputItem = { type: 'image_generation_call', id: 'i', result: '/9j/AA' };
    expect(contents([hello, image, seal('A'), image, seal('B'), hello])).toMatchObject([
      {},
      {
        parts: [
          { inlineData: { data: '/9j/AA' }, thoughtSignature: 'A' },
          { inlineData: { data: '/9j/AA' }, thoughtSignature: 'B' },
        ],
      },
      {},
    ]);
  });

  it('are not given to a call that came without one', () => {
    const said: InputItem = { type: 'message', role: 'assistant', content: 'Look.' };
    expect(contents([hello, said, seal('A'), seal(''), call('a')])).toEqual([
      { role: 'user', parts: [{ text: 'hello' }] },
      {
        role: 'model',
        parts: [
          { text: 'Look.' },
          { text: '', thoughtSignature: 'A' },
          { functionCall: { id: 'a', name: 'f', args: {} } },
        ],
      },
    ]);
  });

  it('are known by our own id when a client leaves out the format', () => {
    const bare = (id: string, sealed = 'A+/='): InputItem => ({
      type: 'reasoning',
      id,
      summary: [],
      encrypted_content: sealed,
    });
    const own = `rs_${'aB3'.repeat(8)}`;
    expect(JSON.stringify(contents([hello, bare(own, 'ai-sdk;p;eyJ9'), call('a')]))).not.toContain('ai-sdk');
    expect(contents([hello, bare(own), call('a')])).toMatchObject([
      {},
      { parts: [{ functionCall: { id: 'a' }, thoughtSignature: 'A+/=' }] },
    ]);
    const foreign = write({ input: [hello, bare(`rs_${'0a'.repeat(24)}`), call('a')] });
    expect(foreign.dropped).toEqual(['input[1] (reasoning, unsigned)']);
    expect(JSON.stringify(foreign.body)).not.toContain('A+/=');
  });

  it('end the last turn, too', () => {
    expect(contents([hello, { type: 'message', role: 'assistant', content: 'So.' }, seal('C')])).toMatchObject([
      {},
      { parts: [{ text: 'So.' }, { text: '', thoughtSignature: 'C' }] },
    ]);
  });

  it('are replaced if a newer model requires them and another model made the call', () => {
    const turns = contents([hello, call('a'), call('b')], 'gemini-3-pro-preview');
    expect(turns).toMatchObject([
      {},
      { parts: [{ thoughtSignature: 'skip_thought_signature_validator' }, { functionCall: { id: 'b' } }] },
    ]);
    expect(JSON.stringify(contents([hello, call('a')]))).not.toContain('thoughtSignature');
  });

  it.each([
    ['anthropic-claude-v1', { format: 'anthropic-claude-v1', signature: 'x' }],
    ['unsigned', { content: [{ type: 'reasoning_text', text: 'Hm.' }] }],
  ])('are left out by name when they are of another provider: %s', (name, fields) => {
    const foreign = { type: 'reasoning', summary: [], ...fields } as InputItem;
    const { body, dropped } = write({ input: [hello, foreign] });
    expect(body.contents).toHaveLength(1);
    expect(dropped).toEqual([`input[1] (reasoning, ${name})`]);
  });
});
