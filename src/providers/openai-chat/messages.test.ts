import { describe, expect, it } from 'vitest';
import { hello, writeTo } from '../../../tests/wires/write-to.ts';
import type { InputItem } from '../../domain/items.ts';
import type { Target } from '../wire.ts';
import { writeRequest } from './request.ts';

const write = writeTo(writeRequest, { upstreamModel: 'one' });
const messages = (input: InputItem[], target?: Partial<Target>) => write({ input }, target).body.messages;
const call = (id: string): InputItem => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' });
const chatCall = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } });
const output = (id: string): InputItem => ({ type: 'function_call_output', call_id: id, output: 'ok' });
const said = (text: string): InputItem => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }],
});

describe('messages', () => {
  it('instructions are the first system message', () => {
    expect(write({ instructions: 'Be kind.' }).body).toEqual({
      model: 'one',
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'hello' },
      ],
    });
  });

  it('a developer is a system where the server does not know the role', () => {
    const input: InputItem[] = [{ type: 'message', role: 'developer', content: 'Be brief.' }];
    expect(messages(input)).toEqual([{ role: 'system', content: 'Be brief.' }]);
    expect(messages(input, { dialect: { developer_role: true } })).toEqual([
      { role: 'developer', content: 'Be brief.' },
    ]);
  });

  it('are a plain string when they hold only text', () => {
    const content = ['one', 'two'].map((text) => ({ type: 'input_text' as const, text }));
    expect(messages([{ type: 'message', role: 'user', content }])).toEqual([{ role: 'user', content: 'one\ntwo' }]);
    expect(messages([{ type: 'message', role: 'user' }])).toEqual([{ role: 'user', content: '' }]);
  });

  it('carry images, files, audio and video as parts', () => {
    const input: InputItem[] = [
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'look' },
          { type: 'input_image', image_url: 'https://a.example/cat.png', detail: 'low' },
          { type: 'input_image', image_url: 'data:image/png;base64,iVBO', detail: 'original' },
          { type: 'input_file', file_url: 'https://a.example/a.pdf', filename: 'a.pdf' },
          { type: 'input_file', file_id: 'file-1' },
          { type: 'input_audio', input_audio: { data: 'UklG', format: 'wav' } },
          { type: 'input_video', video_url: 'https://a.example/v.mp4', processing: 'static' },
        ],
      },
    ];
    expect(messages(input)).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'look' },
          { type: 'image_url', image_url: { url: 'https://a.example/cat.png', detail: 'low' } },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO', detail: 'high' } },
          { type: 'file', file: { file_data: 'https://a.example/a.pdf', filename: 'a.pdf' } },
          { type: 'file', file: { file_id: 'file-1' } },
          { type: 'input_audio', input_audio: { data: 'UklG', format: 'wav' } },
          { type: 'video_url', video_url: { url: 'https://a.example/v.mp4' } },
        ],
      },
    ]);
    expect(write({ input }).dropped).toEqual([
      'input[0].content[2].detail (original → high)',
      'input[0].content[6].processing',
    ]);
  });

  it('carry a refusal with the text', () => {
    const refusal = { type: 'refusal' as const, refusal: 'No.' };
    expect(messages([{ type: 'message', role: 'assistant', content: [refusal] }])).toEqual([
      { role: 'assistant', content: null, refusal: 'No.' },
    ]);
  });

  it('of the assistant in a row: text and calls share one, outputs follow', () => {
    expect(
      messages([hello, said('Let me see.'), call('a'), call('b'), output('a'), output('b'), said('Done.')]),
    ).toEqual([
      { role: 'user', content: 'hello' },
      { role: 'assistant', content: 'Let me see.', tool_calls: [chatCall('a'), chatCall('b')] },
      { role: 'tool', tool_call_id: 'a', content: 'ok' },
      { role: 'tool', tool_call_id: 'b', content: 'ok' },
      { role: 'assistant', content: 'Done.' },
    ]);
  });

  it('never come between calls and their outputs', () => {
    expect(messages([call('a'), said('And'), call('b'), said('go.'), output('a'), output('b')])).toMatchObject([
      { role: 'assistant', content: 'And\n\ngo.', tool_calls: [chatCall('a'), chatCall('b')] },
      { role: 'tool' },
      { role: 'tool' },
    ]);
  });

  it('of two finished responses stay two', () => {
    expect(messages([said('one'), said('two')])).toHaveLength(2);
  });

  it('of a tool carry images as parts, text as a string', () => {
    const parts: InputItem = {
      type: 'function_call_output',
      call_id: 'a',
      output: [
        { type: 'input_text', text: 'here' },
        { type: 'input_image', image_url: 'data:image/png;base64,iVBO' },
      ],
    };
    expect(messages([call('a'), parts])).toMatchObject([
      {},
      {
        role: 'tool',
        content: [{ type: 'text' }, { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } }],
      },
    ]);
  });

  it('between agents come from the user, with author and recipient', () => {
    const input: InputItem[] = [
      {
        type: 'agent_message',
        author: 'planner',
        recipient: 'coder',
        content: [
          { type: 'input_text', text: 'Go.' },
          { type: 'encrypted_content', encrypted_content: 'x' },
        ],
      },
    ];
    expect(messages(input)).toEqual([{ role: 'user', content: '[Message from planner to coder]\nGo.' }]);
    expect(write({ input }).dropped).toEqual(['input[0].content[1].encrypted_content']);
  });
});

describe('replayed reasoning', () => {
  const input: InputItem[] = [
    hello,
    {
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'short' }],
      content: [{ type: 'reasoning_text', text: 'long' }],
      encrypted_content: 'gAAAA',
      signature: 'Eqo',
      format: 'openai-responses-v1',
    },
    call('a'),
  ];

  it('is left out and named', () => {
    expect(write({ input }).body.messages).toHaveLength(2);
    expect(write({ input }).dropped).toEqual([
      'input[1].encrypted_content (openai-responses-v1)',
      'input[1].signature (openai-responses-v1)',
      'input[1].summary',
      'input[1].content',
    ]);
  });

  it('goes with the message that follows it, where the server wants it', () => {
    expect(messages(input, { dialect: { replay_reasoning: true } })).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: null, reasoning_content: 'long', tool_calls: [chatCall('a')] },
    ]);
  });
});

describe('reasoning for servers that take it in blocks', () => {
  it('goes back to the letter, with its format', () => {
    const { body, dropped } = write(
      {
        input: [
          { type: 'message', role: 'user', content: 'a' },
          {
            type: 'reasoning',
            id: 'rs_1',
            summary: [{ type: 'summary_text', text: 'S' }],
            content: [{ type: 'reasoning_text', text: 'T' }],
            signature: 'Eq+/=',
            format: 'anthropic-claude-v1',
          },
          { type: 'reasoning', summary: [], encrypted_content: 'gA+/=', format: 'openai-responses-v1' },
          { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
        ],
      },
      { dialect: { reasoning_details: true } },
    );
    const claude = { format: 'anthropic-claude-v1', id: 'rs_1' };
    expect((body.messages as object[])[1]).toMatchObject({
      role: 'assistant',
      reasoning_details: [
        { type: 'reasoning.summary', summary: 'S', ...claude, index: 0 },
        { type: 'reasoning.text', text: 'T', signature: 'Eq+/=', ...claude, index: 1 },
        { type: 'reasoning.encrypted', data: 'gA+/=', format: 'openai-responses-v1', index: 2 },
      ],
      tool_calls: [{ id: 'c' }],
    });
    expect(dropped).toEqual([]);
  });

  it('names the call that follows it, if another call precedes it', () => {
    const sealed = { type: 'reasoning' as const, summary: [], format: 'google-gemini-v1' as const };
    const { body } = write(
      {
        input: [
          { type: 'message', role: 'user', content: 'a' },
          { ...sealed, encrypted_content: 'one' },
          { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
          { ...sealed, encrypted_content: 'two' },
          { type: 'function_call', call_id: 'c2', name: 'f', arguments: '{}' },
        ],
      },
      { dialect: { reasoning_details: true } },
    );
    expect((body.messages as object[])[1]).toMatchObject({
      reasoning_details: [
        { data: 'one', index: 0 },
        { data: 'two', index: 1, tool_call_id: 'c2' },
      ],
      tool_calls: [{ id: 'c1' }, { id: 'c2' }],
    });
  });
});

describe('what was made before', () => {
  it('becomes a user message if only users may send images', () => {
    const input: InputItem[] = [
      hello,
      { type: 'image_generation_call', id: 'i', status: 'completed', result: '/9j/AA' },
    ];
    expect(messages(input)).toMatchObject([
      { content: 'hello' },
      { role: 'user', content: [{ type: 'text' }, { image_url: { url: 'data:image/jpeg;base64,/9j/AA' } }] },
    ]);
  });

  it('is left out by name when nothing of it is there', () => {
    const input: InputItem[] = [
      hello,
      { type: 'image_generation_call', id: 'i', result: null },
      { type: 'web_search_call', id: 'w' },
    ];
    expect(write({ input }).dropped).toEqual(['input[1] (image_generation_call)', 'input[2] (web_search_call)']);
  });
});
