import { describe, expect, it } from 'vitest';
import { hello, refused, writeTo } from '../../../tests/wires/write-to.ts';
import type { InputItem, Tool } from '../../domain/items.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import { writeRequest } from './request.ts';

const write = writeTo(writeRequest, { upstreamModel: 'claude-sonnet-4-5' });
const tool = (fields: object = {}): Tool => ({ type: 'function', name: 'f', parameters: null, ...fields }) as Tool;
const turns = (input: InputItem[]) => write({ input }).body.messages;

describe('turns', () => {
  it('hold the system prompt apart, and neighbors of one role together', () => {
    const { body } = write({
      instructions: 'Be brief.',
      input: [
        { type: 'message', role: 'developer', content: 'Be kind.' },
        { type: 'message', role: 'user', content: 'a' },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'b' }] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'c' }] },
        { type: 'message', role: 'system', content: 'Be quick.' },
        { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'd' }] },
      ],
    });
    const text = (words: string) => ({ type: 'text', text: words });
    expect(body.system).toEqual([text('Be brief.'), text('Be kind.'), text('Be quick.')]);
    expect(body.messages).toEqual([
      { role: 'user', content: [text('a'), text('b')] },
      { role: 'assistant', content: [text('c'), text('d')] },
    ]);
  });

  it('have calls and their results where the protocol wants them', () => {
    expect(
      turns([
        hello,
        { type: 'function_call', call_id: 'a', name: 'f', arguments: '{"x":1}' },
        { type: 'custom_tool_call', call_id: 'b', name: 'sql', input: 'select 1', namespace: 'db' },
        { type: 'message', role: 'user', content: 'Well?' },
        { type: 'function_call_output', call_id: 'a', output: 'one' },
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
      { role: 'user', content: [{ type: 'text', text: 'hello' }] },
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } },
          { type: 'tool_use', id: 'b', name: 'db__sql', input: { input: 'select 1' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: 'one' },
          {
            type: 'tool_result',
            tool_use_id: 'b',
            content: [
              { type: 'text', text: 'two' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
            ],
          },
          { type: 'text', text: 'Well?' },
        ],
      },
    ]);
  });

  it('carry arguments that are no object as text, by name', () => {
    const input: InputItem[] = [{ type: 'function_call', call_id: 'a', name: 'f', arguments: '{"x":' }];
    const { body, dropped } = write({ input });
    expect(body.messages).toMatchObject([{ content: [{ input: { arguments: '{"x":' } }] }]);
    expect(dropped).toEqual(['input[0].arguments (not a JSON object; sent as text)']);
    expect(turns([{ type: 'function_call', call_id: 'a', name: 'f', arguments: '' }])).toMatchObject([
      { content: [{ input: {} }] },
    ]);
  });

  it('leave out texts of nothing, which the provider refuses', () => {
    expect(
      turns([hello, { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: '' }] }]),
    ).toHaveLength(1);
  });

  it('name sender and recipient', () => {
    const content = [
      { type: 'input_text' as const, text: 'Go.' },
      { type: 'encrypted_content' as const, encrypted_content: 'x' },
    ];
    const { body, dropped } = write({ input: [{ type: 'agent_message', author: 'a', recipient: 'b', content }] });
    expect(body.messages).toMatchObject([
      { role: 'user', content: [{ text: '[Message from a to b]' }, { text: 'Go.' }] },
    ]);
    expect(dropped).toEqual(['input[0].content[1]']);
  });

  it.each<[string, InputItem]>([
    ['input[1]', { type: 'item_reference', id: 'msg_1' }],
    ['input[1]', { type: 'mcp_call', id: 'x' }],
    [
      'input[1]',
      { type: 'message', role: 'system', content: [{ type: 'input_image', image_url: 'https://a.example' }] },
    ],
    [
      'input[1].content[0]',
      { type: 'message', role: 'user', content: [{ type: 'input_video', video_url: 'https://a' }] },
    ],
    [
      'input[1].content[0]',
      { type: 'message', role: 'user', content: [{ type: 'input_audio', input_audio: { data: '', format: 'wav' } }] },
    ],
  ])('refuse what the wire has no place for: %s', (path, item) => {
    expect(() => write({ input: [hello, item] })).toThrow(refused(path));
  });

  it('show an earlier generated image as one of the user', () => {
    expect(turns([hello, { type: 'image_generation_call', id: 'i', result: 'UklGRAA' }])).toMatchObject([
      {
        role: 'user',
        content: [
          { text: 'hello' },
          { type: 'text' },
          { type: 'image', source: { media_type: 'image/webp', data: 'UklGRAA' } },
        ],
      },
    ]);
  });

  it('name items that only others can read, or that are no use without their pages', () => {
    const { dropped } = write({
      input: [hello, { type: 'compaction', encrypted_content: 'x' }, { type: 'web_search_call', id: 'ws_1' }],
    });
    expect(dropped).toEqual(['input[1] (compaction)', 'input[2] (web_search_call)']);
  });
});

describe('reasoning that is sent back', () => {
  const reasoning = (fields: object): InputItem => ({ type: 'reasoning', summary: [], ...fields }) as InputItem;
  const ours = { format: 'anthropic-claude-v1' };

  it('is the block that was sent, to the letter', () => {
    const content = [{ type: 'reasoning_text', text: 'Hm "so" ✓\n' }];
    expect(
      turns([
        hello,
        reasoning({ ...ours, content, signature: 'Eq+/=' }),
        reasoning({ ...ours, encrypted_content: 'Em+/=' }),
        reasoning({ ...ours, signature: 'silent' }),
        { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
      ]),
    ).toMatchObject([
      {},
      {
        content: [
          { type: 'thinking', thinking: 'Hm "so" ✓\n', signature: 'Eq+/=' },
          { type: 'redacted_thinking', data: 'Em+/=' },
          { type: 'thinking', thinking: '', signature: 'silent' },
          { type: 'tool_use' },
        ],
      },
    ]);
  });

  it.each([
    ['google-gemini-v1', { format: 'google-gemini-v1', encrypted_content: 'x' }],
    ['openai-responses-v1', { format: 'openai-responses-v1', encrypted_content: 'x' }],
    ['unsigned', { content: [{ type: 'reasoning_text', text: 'Hm.' }] }],
    ['unsigned', { encrypted_content: 'from somebody' }],
  ])('is left out by name when it is of another provider, or unsigned: %s', (name, fields) => {
    const { body, dropped } = write({ input: [hello, reasoning(fields)] });
    expect(body.messages).toHaveLength(1);
    expect(dropped).toEqual([`input[1] (reasoning, ${name})`]);
  });
});

describe('media', () => {
  const content = (part: object) =>
    (
      write({ input: [{ type: 'message', role: 'user', content: [part as never] }] }).body.messages as [
        { content: object[] },
      ]
    )[0].content;

  it.each<[string, object, object]>([
    [
      'an image by address',
      { type: 'input_image', image_url: 'https://a.example/b.png' },
      { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } },
    ],
    [
      'an image by id',
      { type: 'input_image', file_id: 'file_1' },
      { type: 'image', source: { type: 'file', file_id: 'file_1' } },
    ],
    [
      'a PDF',
      { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' }, title: 'a.pdf' },
    ],
    [
      'a PDF without its type',
      { type: 'input_file', filename: 'a.PDF', file_data: 'JVBE' },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' }, title: 'a.PDF' },
    ],
    [
      'a text',
      { type: 'input_file', file_data: `data:text/markdown;base64,${Buffer.from('# Grüße').toString('base64')}` },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: '# Grüße' } },
    ],
    [
      'a picture as file',
      { type: 'input_file', file_data: 'data:image/webp;base64,AA==' },
      { type: 'image', source: { type: 'base64', media_type: 'image/webp', data: 'AA==' } },
    ],
    [
      'a file by address',
      { type: 'input_file', file_url: 'https://a.example/b.pdf' },
      { type: 'document', source: { type: 'url', url: 'https://a.example/b.pdf' } },
    ],
  ])('carries %s', (_name, part, block) => {
    expect(content(part)).toEqual([block]);
  });

  it.each([
    ['input[0].content[0].file_data', { type: 'input_file', file_data: 'data:application/zip;base64,UEs=' }],
    ['input[0].content[0].file_data', { type: 'input_file', file_data: 'data:text/plain,hello' }],
    ['input[0].content[0].image_url', { type: 'input_image', image_url: 'data:image/png,abc' }],
  ])('refuses what the provider cannot read: %s', (path, part) => {
    expect(() => content(part)).toThrow(refused(path));
  });

  it('requests the files beta if files are named by id', () => {
    const part = { type: 'input_image' as const, file_id: 'file_1' };
    const { headers } = write({ input: [{ type: 'message', role: 'user', content: [part] }] });
    expect(headers).toEqual({ 'anthropic-beta': 'files-api-2025-04-14' });
  });
});

describe('tools', () => {
  it('are functions with a schema, custom tools and groups too', () => {
    const { body, readerContext, dropped } = write({
      tools: [
        tool({ description: 'Does.', parameters: { type: 'object', properties: { x: {} } }, strict: true }),
        { type: 'custom', name: 'sql' },
        { type: 'namespace', name: 'crm', description: 'Customers.', tools: [{ type: 'function', name: 'find' }] },
      ],
    });
    expect(body.tools).toEqual([
      { name: 'f', description: 'Does.', input_schema: { type: 'object', properties: { x: {} } } },
      { name: 'sql', input_schema: expect.objectContaining({ required: ['input'] }) },
      { name: 'crm__find', description: 'Customers.', input_schema: { type: 'object', properties: {} } },
    ]);
    expect([...readerContext.tools!.keys()]).toEqual(['sql', 'crm__find']);
    expect(dropped).toEqual(['tools.f.strict']);
  });

  it('may be strict and eager if the dialect allows it', () => {
    const dialect = { strict_tools: true, eager_input: true };
    expect(write({ tools: [tool({ strict: true })] }, { dialect, stream: true }).body.tools).toMatchObject([
      { strict: true, eager_input_streaming: true },
    ]);
    expect(write({ tools: [tool()] }, { dialect }).body.tools).toEqual([
      { name: 'f', input_schema: { type: 'object', properties: {} } },
    ]);
  });

  it.each<[string, ResponseRequest['tool_choice'], boolean | undefined, object | undefined]>([
    ['nothing', undefined, undefined, undefined],
    ['one at a time', undefined, false, { type: 'auto', disable_parallel_tool_use: true }],
    ['auto', 'auto', true, { type: 'auto' }],
    ['none', 'none', false, { type: 'none' }],
    ['required', 'required', undefined, { type: 'any' }],
    ['one', { type: 'function', name: 'f' }, false, { type: 'tool', name: 'f', disable_parallel_tool_use: true }],
    [
      'some',
      { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'f' }] },
      undefined,
      { type: 'any' },
    ],
  ])('are chosen: %s', (_name, choice, parallel, expected) => {
    const request: Partial<ResponseRequest> = { tools: [tool(), tool({ name: 'g' })] };
    if (choice !== undefined) request.tool_choice = choice;
    if (parallel !== undefined) request.parallel_tool_calls = parallel;
    expect(write(request).body.tool_choice).toEqual(expected);
  });

  it('are those of the list alone when only these are allowed', () => {
    const { body } = write({
      tools: [tool(), tool({ name: 'g' })],
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'g' }] },
    });
    expect(body.tools).toMatchObject([{ name: 'g' }]);
  });

  it('search the web at the provider', () => {
    const search: Tool = {
      type: 'web_search',
      filters: { allowed_domains: ['a.example'] },
      user_location: { country: 'CH' },
      max_uses: 2,
      search_context_size: 'high',
    };
    const { body, dropped } = write({ tools: [tool(), search], tool_choice: { type: 'web_search_preview' } });
    expect(body.tools).toMatchObject([
      { name: 'f' },
      {
        type: 'web_search_20250305',
        name: 'web_search',
        max_uses: 2,
        allowed_domains: ['a.example'],
        user_location: { type: 'approximate', country: 'CH' },
      },
    ]);
    expect(body.tool_choice).toEqual({ type: 'tool', name: 'web_search' });
    expect(dropped).toEqual(['tools[1].search_context_size']);
    const without: Tool = { type: 'web_search', filters: { blocked_domains: ['b.example'], mood: 'x' } };
    const other = write({ tools: [without] });
    expect(other.body.tools).toMatchObject([{ blocked_domains: ['b.example'] }]);
    expect(other.dropped).toEqual(['tools[0].filters.mood']);
    expect(write({ tools: [search] }, { dialect: { native_search: false } }).dropped).toEqual([
      'tools[0] (web_search)',
    ]);
    expect(write({ tools: [{ type: 'code_interpreter' }] }).dropped).toEqual(['tools[0] (code_interpreter)']);
    for (const type of ['file_search', 'shell'] as const) {
      expect(() => write({ tools: [{ type }] })).toThrow(refused('tools[0]'));
    }
  });
});

describe('reasoning', () => {
  const think = (
    reasoning: ResponseRequest['reasoning'],
    more: Partial<ResponseRequest> = {},
    model = 'claude-sonnet-4-5',
  ) => {
    const { body, dropped } = write({ reasoning: reasoning!, ...more }, { upstreamModel: model });
    return { thinking: body.thinking, output: body.output_config, dropped };
  };

  it.each<[ResponseRequest['reasoning'], number | undefined, object]>([
    [{ effort: 'low' }, 10_000, { type: 'enabled', budget_tokens: 2000 }],
    [{ effort: 'high' }, undefined, { type: 'enabled', budget_tokens: 51_200 }],
    [{ effort: 'max' }, undefined, { type: 'enabled', budget_tokens: 60_800 }],
    [{ effort: 'low' }, 2000, { type: 'enabled', budget_tokens: 1024 }], // the least there is
    [{ max_tokens: 5000 }, 10_000, { type: 'enabled', budget_tokens: 5000 }],
    [{ max_tokens: 1 }, 10_000, { type: 'enabled', budget_tokens: 1024 }],
    [{ enabled: true }, 10_000, { type: 'enabled', budget_tokens: 5000 }],
    [{ enabled: false }, undefined, { type: 'disabled' }],
    [{ effort: 'none' }, undefined, { type: 'disabled' }],
  ])('is a budget: %j of %s', (reasoning, limit, thinking) => {
    expect(think(reasoning, limit === undefined ? {} : { max_output_tokens: limit }).thinking).toEqual(thinking);
  });

  it('fits below the output limit, or is left out by name', () => {
    expect(think({ max_tokens: 9000 }, { max_output_tokens: 4000 })).toMatchObject({
      thinking: { budget_tokens: 3999 },
      dropped: ['reasoning.max_tokens (9000 → 3999)'],
    });
    const tight = think({ effort: 'high' }, { max_output_tokens: 1000 });
    expect(tight.thinking).toBeUndefined();
    expect(tight.dropped).toEqual([expect.stringContaining('max_output_tokens leaves less than 1024')]);
  });

  it('is led by an effort where the model decides for itself', () => {
    const model = 'claude-opus-4-7';
    expect(think({ effort: 'medium' }, {}, model)).toMatchObject({
      thinking: { type: 'adaptive', display: 'summarized' },
      output: { effort: 'medium' },
      dropped: [],
    });
    expect(think({ effort: 'minimal' }, {}, model)).toMatchObject({
      output: { effort: 'low' },
      dropped: ['reasoning.effort (minimal → low)'],
    });
  });

  it.each([
    ['claude-sonnet-4-5@20250929', 'enabled'], // Vertex
    ['claude-opus-4-1@20250805', 'enabled'],
    ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'enabled'], // Bedrock
    ['us.anthropic.claude-opus-4-7', 'adaptive'],
    ['anthropic/claude-sonnet-4.5', 'enabled'], // gateways
    ['claude-opus-4.7', 'adaptive'],
  ])('is the kind of the model by any of its names: %s', (model, type) => {
    expect(think({ effort: 'high' }, {}, model).thinking).toMatchObject({ type });
  });

  it.each([
    ['claude-sonnet-4-5', 'auto', []],
    ['claude-sonnet-4-5', 'detailed', ['reasoning.summary (detailed)']],
    ['claude-3-7-sonnet-20250219', 'auto', ['reasoning.summary']],
    ['kimi-k2', 'auto', ['reasoning.summary']],
  ] as const)('has a summary on models that write one: %s, %s', (model, summary, dropped) => {
    expect(think({ effort: 'low', summary }, {}, model).dropped).toEqual(dropped);
  });

  it('is no matter of models that do not think', () => {
    const { thinking, dropped } = think({ effort: 'high' }, {}, 'claude-3-5-haiku-20241022');
    expect(thinking).toBeUndefined();
    expect(dropped).toEqual(['reasoning.effort']);
  });

  it('gives way to a call that must be made', () => {
    const { thinking, dropped } = think({ effort: 'high' }, { tools: [tool()], tool_choice: 'required' });
    expect(thinking).toBeUndefined();
    expect(dropped).toEqual([expect.stringContaining('forced tool call')]);
  });

  describe('when calls come back', () => {
    const call = (id: string): InputItem => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' });
    const output = (id: string): InputItem => ({ type: 'function_call_output', call_id: id, output: 'x' });
    const thought: InputItem = {
      type: 'reasoning',
      id: 'rs_1',
      summary: [],
      content: [{ type: 'reasoning_text', text: 'Hm' }],
      signature: 'Eq+/=',
      format: 'anthropic-claude-v1',
    };
    const said: InputItem = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Done.' }] };
    const bare: InputItem = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' };

    it.each<[string, InputItem[]]>([
      ['with the thinking before the first of them', [hello, thought, call('1'), output('1'), call('2'), output('2')]],
      ['in an earlier turn', [hello, call('1'), output('1'), said, hello]],
      ['that nobody answered yet', [hello, call('1')]],
    ])('goes on: %s', (_what, input) => {
      expect(think({ effort: 'low' }, { input }).thinking).toMatchObject({ type: 'enabled' });
    });

    it.each<[string, InputItem[]]>([
      ['without thinking', [hello, call('1'), output('1')]],
      ['with reasoning that has lost its signature', [hello, bare, call('1'), output('1')]],
      ['with thinking before a later one alone', [hello, call('1'), output('1'), thought, call('2'), output('2')]],
    ])('is left out by name: %s', (_what, input) => {
      const { thinking, dropped } = think({ effort: 'low' }, { input });
      expect(thinking).toBeUndefined();
      expect(dropped).toContainEqual(expect.stringContaining('reasoning (the calls of the input have no thinking'));
    });

    it('goes on at another gateway, whose model may be of any provider', () => {
      const { body, dropped } = write(
        {
          reasoning: { effort: 'xhigh' },
          temperature: 0.5,
          input: [
            hello,
            { type: 'reasoning', summary: [], encrypted_content: 'gA+/=', format: 'openai-responses-v1' },
            call('1'),
            output('1'),
            call('2'),
            output('2'),
          ],
        },
        { dialect: { gateway: true }, upstreamModel: 'google/gemini-3-pro' },
      );
      expect(body).toMatchObject({
        output_config: { effort: 'xhigh' },
        thinking: { type: 'adaptive' },
        temperature: 0.5,
      });
      expect(body).not.toHaveProperty('max_tokens');
      expect(JSON.stringify(body.messages)).toMatch(/"redacted_thinking","data":"hg1\./);
      expect(dropped).toEqual([]);
    });

    it('is left out by name if a gateway has sealed its signature, unless that gateway gets it', () => {
      const input: InputItem[] = [hello, { ...thought, signature: 'hg1.e30' }, call('1'), output('1')];
      expect(write({ input }).dropped).toEqual(['input[1] (reasoning, anthropic-claude-v1)']);
      const { body, dropped } = write({ input }, { dialect: { gateway: true } });
      expect(JSON.stringify(body.messages)).toContain('"signature":"hg1.e30"');
      expect(dropped).toEqual([]);
    });

    it('goes on by itself where the model decides for itself', () => {
      const { thinking } = think({ effort: 'low' }, { input: [hello, call('1'), output('1')] }, 'claude-opus-4-7');
      expect(thinking).toEqual({ type: 'adaptive', display: 'summarized' });
    });
  });

  it('leaves no room for a temperature', () => {
    const { body, dropped } = write({ reasoning: { effort: 'low' }, temperature: 0.2, top_p: 0.5, top_k: 3 });
    expect(body).not.toHaveProperty('temperature');
    expect(dropped).toEqual(['temperature', 'top_p', 'top_k']);
  });

  it('is changed by the last update', () => {
    const update: InputItem = { type: 'configuration_update', reasoning: { effort: 'none' } };
    expect(think({ effort: 'high' }, { input: [hello, update] }).thinking).toEqual({ type: 'disabled' });
  });
});

describe('settings', () => {
  it('have an output limit, by the model when the caller sets none', () => {
    expect(write({}).body.max_tokens).toBe(64_000);
    expect(write({}, { upstreamModel: 'us.anthropic.claude-3-haiku-20240307' }).body.max_tokens).toBe(4096);
    expect(write({}, { upstreamModel: 'claude-opus-4-1-20250805' }).body.max_tokens).toBe(32_000);
    expect(write({}, { upstreamModel: 'other' }).body.max_tokens).toBe(8192);
    expect(write({ max_output_tokens: 9 }).body.max_tokens).toBe(9);
    expect(write({}, { dialect: { max_tokens: 7 } }).body.max_tokens).toBe(7);
  });

  it('keep their meaning, or are named', () => {
    const { body, dropped } = write({
      temperature: 1.5,
      top_p: 0.9,
      top_k: 5,
      frequency_penalty: 1,
      metadata: { a: 'b' },
      service_tier: 'default',
      text: { verbosity: 'low' },
      top_logprobs: 2,
    });
    expect(body).toMatchObject({ temperature: 1, top_k: 5, service_tier: 'standard_only' });
    expect(dropped.sort()).toEqual([
      'frequency_penalty',
      'metadata',
      'temperature (1.5 → 1)',
      'text.verbosity',
      'top_logprobs',
      'top_p',
    ]);
  });

  it('ask for JSON by schema, and only so', () => {
    const schema = { type: 'object' };
    const { body, headers } = write({ text: { format: { type: 'json_schema', name: 'city', schema } } });
    expect(body.output_config).toEqual({ format: { type: 'json_schema', schema } });
    expect(headers!['anthropic-beta']).toBe('structured-outputs-2025-11-13');
    const plain = write({ instructions: 'Hi.', text: { format: { type: 'json_object' } } });
    expect(plain.body.system).toMatchObject([{ text: 'Hi.' }, { text: expect.stringContaining('one JSON object') }]);
    expect(plain.dropped).toEqual(['text.format (json_object, requested in the prompt)']);
  });

  it('name the end user by a hash alone', () => {
    const { body } = write({ user: 'ada@example.org', safety_identifier: 'x' }, { endUser: 'hg_1' });
    expect(body.metadata).toEqual({ user_id: 'hg_1' });
    expect(JSON.stringify(body)).not.toContain('ada@');
  });

  it('name the workspace by a hash if there is no end user, but not to another gateway', () => {
    const account = 'hg_2';
    expect(write({}, { account }).body.metadata).toEqual({ user_id: 'hg_2' });
    expect(write({ user: 'ada' }, { account, endUser: 'hg_1' }).body.metadata).toEqual({ user_id: 'hg_1' });
    for (const dialect of [{ account_identity: false }, { gateway: true }]) {
      const { body, dropped } = write({}, { account, dialect });
      expect([body.metadata, dropped]).toEqual([undefined, []]);
    }
  });

  it('send the betas of the operator', () => {
    expect(write({}, { dialect: { betas: ['a', 'b'] } }).headers).toEqual({ 'anthropic-beta': 'a,b' });
    expect(write({})).not.toHaveProperty('headers');
  });
});

describe('cache marks', () => {
  const part = (text: string, mark?: object) => ({ type: 'input_text' as const, text, ...mark });
  const message = (...content: object[]): InputItem => ({ type: 'message', role: 'user', content: content as never });

  it('are carried, each in its dialect', () => {
    const input = [
      message(
        part('a', { cache_control: { type: 'ephemeral', ttl: '1h' } }),
        part('b', { prompt_cache_breakpoint: { mode: 'explicit' } }),
        part('c'),
      ),
    ];
    const { body } = write({ input, cache_control: { type: 'ephemeral' } });
    expect(body.cache_control).toEqual({ type: 'ephemeral' });
    expect(body.messages).toMatchObject([
      { content: [{ cache_control: { type: 'ephemeral', ttl: '1h' } }, { cache_control: { type: 'ephemeral' } }, {}] },
    ]);
    expect(write({ input }, { dialect: { cache_control: false } }).dropped).toEqual(['cache_control']);
  });

  it('are four at most; the first ones are left out by name', () => {
    const mark = { cache_control: { type: 'ephemeral' } };
    const input = [message(...['a', 'b', 'c', 'd', 'e', 'f'].map((text) => part(text, mark)))];
    const { body, dropped } = write({ input }, { dialect: { cache: { max: 4 } } });
    const [{ content }] = body.messages as [{ content: { cache_control?: object }[] }];
    expect(content.map((block) => block.cache_control !== undefined)).toEqual([false, false, true, true, true, true]);
    expect(dropped).toEqual(['cache_control (2 of 6; the first ones)']);
  });
});
