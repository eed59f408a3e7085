import { describe, expect, it } from 'vitest';
import type { GatewayError, Issue } from '../../domain/errors.ts';
import type { RequestHints } from '../request-hints.ts';
import { createChatNames } from './name-fields.ts';
import { checkChatBody, readChat } from './request.ts';

const hello = { role: 'user', content: 'Hello' };
const body = (fields: object = {}) => ({ model: 'a/b', messages: [hello], ...fields });
const read = (fields: object = {}, hints: RequestHints = {}) => readChat(checkChatBody(body(fields)), hints);
const request = (fields: object) => read(fields).read.request;

function findIssues(fields: object): Issue[] {
  try {
    checkChatBody(body(fields));
  } catch (error) {
    return (error as GatewayError).metadata['issues'] as Issue[];
  }
  return [];
}
const paths = (fields: object) => findIssues(fields).map(({ path }) => path);

describe('the body', () => {
  it('needs messages, and says where a body with `input` belongs', () => {
    expect(findIssues({ messages: undefined, input: 'Hello' })).toEqual([
      { path: 'messages', message: expect.stringContaining('POST /responses') },
    ]);
  });

  it.each<[path: string, fields: object]>([
    ['messages', { messages: [] }],
    ['messages[0].role', { messages: [{ role: 'critic', content: 'x' }] }],
    [
      'messages[1].content[0].image_url.url',
      { messages: [hello, { role: 'user', content: [{ type: 'image_url', image_url: { url: 5 } }] }] },
    ],
    ['messages[0].content[0].type', { messages: [{ role: 'user', content: [{ type: 'input_video', text: 'x' }] }] }],
    ['messages[0].audio', { messages: [{ role: 'assistant', content: 'x', audio: { id: 'a' } }] }],
    ['messages[0].tool_call_id', { messages: [{ role: 'tool', content: 'x' }] }],
    ['n', { n: 2 }],
    ['audio', { audio: { voice: 'alloy', format: 'mp3' } }],
    ['modalities[1]', { modalities: ['text', 'audio'] }],
    ['store', { store: true }],
    ['top_logprobs', { top_logprobs: 3 }],
    ['top_logprobs', { logprobs: true, top_logprobs: 21 }],
    [
      'response_format.json_schema.name',
      { response_format: { type: 'json_schema', json_schema: { name: 5, schema: {} } } },
    ],
    ['tools[0].function.name', { tools: [{ type: 'function', function: { name: 'a b' } }] }],
    ['tools[0].type', { tools: [{ type: 'apply_patch' }] }],
    ['tools[0].require_approval', { tools: [{ type: 'mcp', server_label: 's', server_url: 'https://a.example' }] }],
    ['logit_bias["50256"]', { logit_bias: { 50256: 101 } }],
    ['stop[0]', { stop: ['x'.repeat(1025)] }],
    ['transforms[0]', { transforms: ['outside-in'] }],
  ])('is rejected at %s', (path, fields) => {
    expect(paths(fields).map((each) => each.replace('logit_bias.50256', 'logit_bias["50256"]'))).toEqual([path]);
  });

  it('may have a null in every optional field', () => {
    const names = Object.keys(
      Object.fromEntries(
        ['audio', 'functions', 'logprobs', 'max_tokens', 'metadata', 'n', 'plugins', 'provider', 'reasoning'].map(
          (name) => [name, null],
        ),
      ),
    );
    const more = [
      'response_format',
      'seed',
      'session_id',
      'stop',
      'stream',
      'stream_options',
      'tools',
      'tool_choice',
      'usage',
      'user',
    ];
    const nulls = Object.fromEntries([...names, ...more].map((name) => [name, null]));
    expect(findIssues(nulls)).toEqual([]);
    expect(request(nulls)).toEqual({ model: 'a/b', input: [{ type: 'message', ...hello }] });
  });

  it('names unknown fields, and blocks of reasoning of unknown types', () => {
    const messages = [hello, { role: 'assistant', content: 'x', reasoning_details: [{ type: 'reasoning.new' }] }];
    expect(read({ mood: 1, messages }).read.ignoredFields).toEqual(['mood', 'messages[1].reasoning_details']);
  });
});

describe('settings', () => {
  it.each<[name: string, sent: object, expected: object]>([
    ['the newer limit of tokens', { max_tokens: 5, max_completion_tokens: 7 }, { max_output_tokens: 7 }],
    ['one stop text', { stop: 'END' }, { stop: ['END'] }],
    ['an effort', { reasoning_effort: 'low' }, { reasoning: { effort: 'low' } }],
    [
      'the more exact effort',
      { reasoning_effort: 'low', reasoning: { effort: 'high' } },
      { reasoning: { effort: 'high' } },
    ],
    ['requested reasoning', { include_reasoning: true }, { reasoning: { enabled: true } }],
    ['a transform', { transforms: ['middle-out'] }, { plugins: [{ id: 'context-compression', enabled: true }] }],
    ['no transform', { transforms: [] }, { plugins: [{ id: 'context-compression', enabled: false }] }],
    [
      'a plugin over a transform',
      { transforms: [], plugins: [{ id: 'context-compression' }] },
      { plugins: [{ id: 'context-compression' }] },
    ],
    ['a tier', { service_tier: 'fast' }, { service_tier: 'priority' }],
    [
      'options of a search',
      {
        web_search_options: {
          search_context_size: 'low',
          user_location: { type: 'approximate', approximate: { city: 'Bonn' } },
        },
      },
      {
        tools: [
          { type: 'web_search', search_context_size: 'low', user_location: { type: 'approximate', city: 'Bonn' } },
        ],
      },
    ],
    [
      'functions of the older form',
      { functions: [{ name: 'f', parameters: {} }], function_call: { name: 'f' } },
      {
        tools: [{ type: 'function', name: 'f', parameters: {} }],
        tool_choice: { type: 'function', name: 'f' },
        parallel_tool_calls: false,
      },
    ],
    [
      'custom tools',
      {
        tools: [
          {
            type: 'custom',
            custom: { name: 'sql', format: { type: 'grammar', grammar: { definition: 'a', syntax: 'lark' } } },
          },
        ],
      },
      { tools: [{ type: 'custom', name: 'sql', format: { type: 'grammar', definition: 'a', syntax: 'lark' } }] },
    ],
    [
      'a choice of some tools',
      {
        tools: [{ type: 'function', function: { name: 'f' } }],
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'f' } }] },
        },
      },
      { tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] } },
    ],
    ['a server tool', { tools: [{ type: 'router:datetime' }] }, { tools: [{ type: 'router:datetime' }] }],
  ])('include %s', (_, sent, expected) => {
    expect(request(sent)).toMatchObject(expected);
  });

  it('have no empty list of stop texts, which servers reject', () => {
    expect(request({ stop: [] })).not.toHaveProperty('stop');
  });

  it('use a preset, whose system prompt precedes the messages', () => {
    const fields = JSON.stringify({ temperature: 0.5, instructions: 'Be brief.' });
    const presets = new Map([['brief', { slug: 'brief', version: 3, status: 'active', fields }]]);
    const { read: parsed } = read({ model: 'a/b@preset/brief', temperature: 0.7 }, {
      presets,
    } as unknown as RequestHints);
    expect(parsed.request).toMatchObject({ model: 'a/b', temperature: 0.7, instructions: 'Be brief.' });
    expect(parsed.preset).toEqual({ slug: 'brief', version: 3, requested: 'a/b@preset/brief' });
  });
});

describe('messages', () => {
  it('of the older form are calls with ids', () => {
    const messages = [
      hello,
      { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
      { role: 'function', name: 'f', content: 'done' },
    ];
    const [, call, output] = request({ messages }).input;
    expect(call).toMatchObject({ type: 'function_call', name: 'f', arguments: '{}' });
    expect(output).toEqual({
      type: 'function_call_output',
      call_id: (call as { call_id: string }).call_id,
      output: 'done',
    });
  });

  // diegosouzapw/OmniRoute#4434
  it.each([
    ['data:audio/wav;base64,UklG', { type: 'input_audio', input_audio: { data: 'UklG', format: 'wav' } }],
    ['data:audio/mpeg;base64,SUQz', { type: 'input_audio', input_audio: { data: 'SUQz', format: 'mp3' } }],
    ['https://a.example/a.wav', { type: 'chat:audio_url' }], // a server of the format may fetch it
  ])('may have audio as a URL: %s', (url, part) => {
    const content = [{ type: 'audio_url', audio_url: { url } }];
    expect(request({ messages: [{ role: 'user', content }] }).input).toMatchObject([{ content: [part] }]);
  });

  // https://github.com/Portkey-AI/gateway/issues/1761
  it('of the older form are the results of calls that have ids, in order', () => {
    const call = (id: string, name: string) => ({ id, type: 'function', function: { name, arguments: '{}' } });
    const messages = [
      hello,
      {
        role: 'assistant',
        content: null,
        tool_calls: [call('c1', 'f'), call('c2', 'g'), call('c3', 'f'), call('c4', 'f')],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'first' },
      { role: 'function', name: 'f', content: 'third' },
      { role: 'function', name: 'g', content: 'second' },
      { role: 'function', name: 'f', content: 'fourth' },
    ];
    const outputs = request({ messages }).input.filter(({ type }) => type === 'function_call_output');
    expect(outputs.map((item) => (item as { call_id: string }).call_id)).toEqual(['c1', 'c3', 'c2', 'c4']);
  });

  // https://github.com/cline/cline/issues/8295
  it('leave out blocks of reasoning without contents', () => {
    const details = [
      { type: 'reasoning.encrypted', id: 'tool_1', format: 'google-gemini-v1', index: 0 },
      { type: 'reasoning.summary', index: 1, summary: null },
      { type: 'reasoning.text', text: 'Hm.', index: 2 },
    ];
    const messages = [hello, { role: 'assistant', content: 'Yes.', reasoning_details: details }, hello];
    expect(request({ messages }).input.slice(1, 3)).toEqual([
      { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] },
      { type: 'message', role: 'assistant', content: 'Yes.' },
    ]);
  });

  it('keep generated images, custom calls, citations and refusals', () => {
    const messages = [
      hello,
      {
        role: 'assistant',
        content: 'See a.example.',
        annotations: [
          {
            type: 'url_citation',
            url_citation: { url: 'https://a.example', title: 'A', start_index: 4, end_index: 13 },
          },
          { type: 'file', file: { hash: 'h', content: [] } },
        ],
        refusal: 'No more.',
        images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } }],
        tool_calls: [{ id: 'c1', type: 'custom', custom: { name: 'sql', input: 'SELECT 1' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: '1' },
    ];
    expect(request({ messages }).input.slice(1)).toEqual([
      { type: 'image_generation_call', status: 'completed', result: 'iVBO' },
      {
        type: 'message',
        role: 'assistant',
        content: [
          {
            type: 'output_text',
            text: 'See a.example.',
            annotations: [
              { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 4, end_index: 13 },
              { type: 'file', file: { hash: 'h', content: [] } },
            ],
          },
          { type: 'refusal', refusal: 'No more.' },
        ],
      },
      { type: 'custom_tool_call', call_id: 'c1', name: 'sql', input: 'SELECT 1' },
      { type: 'custom_tool_call_output', call_id: 'c1', output: '1' },
    ]);
  });
});

describe('names of fields in errors', () => {
  const sent = body({
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'assistant',
        content: 'x',
        reasoning: 'hm',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: [{ type: 'text', text: 'y' }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'z' },
          { type: 'image_url', image_url: { url: 'https://a.example' } },
        ],
      },
    ],
    tools: [{ type: 'router:datetime' }, { type: 'function', function: { name: 'f' } }],
    functions: [{ name: 'g' }],
    max_tokens: 5,
    reasoning_effort: 'low',
  });
  const rename = createChatNames(() => sent);

  it.each([
    ['input[0].content', 'messages[0].content'],
    ['input[1].signature (unknown)', 'messages[1].reasoning (unknown)'],
    ['input[2].name', 'messages[1].name'],
    ['input[3].arguments (not a JSON object)', 'messages[1].tool_calls[0].function.arguments (not a JSON object)'],
    ['input[4].output[0]', 'messages[2].content[0]'],
    ['input[4].call_id', 'messages[2].tool_call_id'],
    ['input[5].content[1].image_url: no image', 'messages[3].content[1].image_url.url: no image'],
    ['input[5].content[1].detail (original → high)', 'messages[3].content[1].image_url.detail (original → high)'],
    ['input[99].name', 'input[99].name'],
    ['input', 'messages'],
    ['`input` holds no content', '`messages` holds no content'],
    ['tools[1].name', 'tools[1].function.name'],
    ['tools[0].type', 'tools[0].type'],
    ['tools[2].name', 'functions[0].name'],
    ['max_output_tokens', 'max_tokens'],
    ['text.format.schema', 'response_format.json_schema.schema'],
    ['text.verbosity', 'verbosity'],
    ['reasoning.effort (low → medium)', 'reasoning_effort (low → medium)'],
    ['The provider failed.', 'The provider failed.'],
  ])('%s is %s', (name, expected) => {
    expect(rename(name)).toBe(expected);
  });
});
