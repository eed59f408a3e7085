import { describe, expect, it } from 'vitest';
import type { InputItem, Tool } from '../../domain/items.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import type { Target } from '../provider.ts';
import { writeRequest } from './request.ts';

const hello: InputItem = { type: 'message', role: 'user', content: 'hello' };

/** Translates; `dialect` and the rest of `target` may be set. */
function write(request: Partial<ResponseRequest>, target: Partial<Target> = {}) {
  return writeRequest(
    { input: [hello], ...request },
    { endpoint: 'acme/one at Acme', upstreamModel: 'gemini-2.5-flash', stream: false, dialect: {}, ...target },
  );
}
const refused = (path: string) =>
  expect.objectContaining({
    kind: 'invalid_request',
    retryable: true, // another endpoint may take it
    message: expect.stringMatching(`^${path.replace(/[[\]]/g, '\\$&')}: .*acme/one at Acme`),
  });
const tool = (fields: object = {}): Tool => ({ type: 'function', name: 'f', parameters: null, ...fields }) as Tool;
const contents = (input: InputItem[], model = 'gemini-2.5-flash') =>
  write({ input }, { upstreamModel: model }).body.contents;
const configOf = (request: Partial<ResponseRequest>, target?: Partial<Target>) => {
  const { body, dropped } = write(request, target);
  return { ...(body.generationConfig as { thinkingConfig?: object } | undefined), dropped };
};

describe('the path', () => {
  it.each([
    ['gemini-2.5-flash', false, '/models/gemini-2.5-flash:generateContent'],
    ['models/gemini-2.5-flash', true, '/models/gemini-2.5-flash:streamGenerateContent?alt=sse'],
    ['tunedModels/mine-1', false, '/tunedModels/mine-1:generateContent'],
    ['../../secret?x#y', false, '/models/..%2F..%2Fsecret%3Fx%23y:generateContent'],
  ])('of %s', (upstreamModel, stream, path) => {
    expect(write({}, { upstreamModel, stream }).path).toBe(path);
  });
});

describe('turns', () => {
  it('hold the system text apart, and neighbours of one role together', () => {
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

  it('have pictures made before', () => {
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

  it('end the last turn, too', () => {
    expect(contents([hello, { type: 'message', role: 'assistant', content: 'So.' }, seal('C')])).toMatchObject([
      {},
      { parts: [{ text: 'So.' }, { text: '', thoughtSignature: 'C' }] },
    ]);
  });

  it('are stood in for where a newer model asks for them and another model made the call', () => {
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

describe('media', () => {
  const part = (given: object) =>
    (
      write({ input: [{ type: 'message', role: 'user', content: [given as never] }] }).body.contents as [
        { parts: object[] },
      ]
    )[0].parts[0];

  it.each<[object, object]>([
    [
      { type: 'input_image', image_url: 'data:image/webp;base64,AA' },
      { inlineData: { mimeType: 'image/webp', data: 'AA' } },
    ],
    [
      { type: 'input_image', image_url: 'https://a.example/b.png?c=d' },
      { fileData: { mimeType: 'image/png', fileUri: 'https://a.example/b.png?c=d' } },
    ],
    [{ type: 'input_file', file_data: 'JVBE' }, { inlineData: { mimeType: 'application/pdf', data: 'JVBE' } }],
    [
      { type: 'input_file', file_data: 'QQ==', filename: 'a.csv' },
      { inlineData: { mimeType: 'text/csv', data: 'QQ==' } },
    ],
    [
      { type: 'input_file', file_url: 'https://a.example/b' },
      { fileData: { mimeType: 'application/pdf', fileUri: 'https://a.example/b' } },
    ],
    [
      { type: 'input_file', file_id: 'https://files.example/v1beta/files/1' },
      { fileData: { fileUri: 'https://files.example/v1beta/files/1' } },
    ],
    [
      { type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } },
      { inlineData: { mimeType: 'audio/wav', data: 'AA' } },
    ],
    [{ type: 'input_video', video_url: 'https://youtu.be/abc' }, { fileData: { fileUri: 'https://youtu.be/abc' } }],
    [
      { type: 'input_video', video_url: 'data:video/webm;base64,AA' },
      { inlineData: { mimeType: 'video/webm', data: 'AA' } },
    ],
  ])('are carried: %j', (given, expected) => {
    expect(part(given)).toEqual(expected);
  });

  it('must be base64', () => {
    expect(() => part({ type: 'input_image', image_url: 'data:image/png,abc' })).toThrow(
      refused('input[0].content[0]'),
    );
  });
});

describe('tools', () => {
  const parameters = { type: 'object', properties: { x: { type: ['string', 'null'] } }, additionalProperties: false };

  it('are declared with JSON Schema, or in the subset of OpenAPI', () => {
    const tools = [tool({ description: 'Does.', parameters, strict: true }), tool({ name: 'g' })];
    const { body, dropped } = write({ tools });
    expect(body.tools).toEqual([
      { functionDeclarations: [{ name: 'f', description: 'Does.', parametersJsonSchema: parameters }, { name: 'g' }] },
    ]);
    expect(dropped).toEqual(['tools.f.strict']);
    expect(write({ tools }, { dialect: { schema: 'openapi' } }).body.tools).toMatchObject([
      {
        functionDeclarations: [
          { parameters: { type: 'object', properties: { x: { type: 'string', nullable: true } } } },
          {},
        ],
      },
    ]);
  });

  it.each<[NonNullable<ResponseRequest['tool_choice']>, object]>([
    ['auto', { mode: 'AUTO' }],
    ['none', { mode: 'NONE' }],
    ['required', { mode: 'ANY' }],
    [
      { type: 'function', name: 'f' },
      { mode: 'ANY', allowedFunctionNames: ['f'] },
    ],
  ])('are chosen: %j', (choice, functionCallingConfig) => {
    expect(write({ tools: [tool()], tool_choice: choice }).body.toolConfig).toEqual({ functionCallingConfig });
  });

  it('search the web at the provider, everywhere', () => {
    const { body, reading } = write({ tools: [tool(), { type: 'web_search' }] });
    expect(body.tools).toMatchObject([{ functionDeclarations: [{}] }, { googleSearch: {} }]);
    expect(reading.searches).toBe(true);
    const limited: Tool = { type: 'web_search', filters: { allowed_domains: ['a.example'] } };
    expect(() => write({ tools: [limited] })).toThrow(refused('tools[0]'));
    expect(() => write({ tools: [{ type: 'web_search' }] }, { dialect: { native_search: false } })).toThrow(
      refused('tools[0]'),
    );
    expect(() => write({ tools: [{ type: 'mcp' }] })).toThrow(refused('tools[0]'));
  });
});

describe('reasoning', () => {
  const think = (reasoning: ResponseRequest['reasoning'], model: string, more: Partial<ResponseRequest> = {}) => {
    const { thinkingConfig, dropped } = configOf({ reasoning: reasoning!, ...more }, { upstreamModel: model });
    return { config: thinkingConfig, dropped };
  };

  it.each<[ResponseRequest['reasoning'], string, object, string[]]>([
    [{ effort: 'low' }, 'gemini-2.5-flash', { thinkingBudget: 6400 }, []],
    [{ effort: 'max' }, 'gemini-2.5-flash', { thinkingBudget: 24_576 }, []],
    [{ effort: 'none' }, 'gemini-2.5-flash', { includeThoughts: false, thinkingBudget: 0 }, []],
    [{ enabled: false }, 'gemini-2.5-pro', { thinkingBudget: 128 }, ['reasoning.effort (none → 128 tokens)']],
    [{ enabled: true }, 'gemini-2.5-pro', { includeThoughts: true, thinkingBudget: -1 }, []],
    [{ max_tokens: 50_000 }, 'gemini-2.5-pro', { thinkingBudget: 32_768 }, ['reasoning.max_tokens (50000 → 32768)']],
    [{ max_tokens: 100 }, 'gemini-2.5-flash-lite', { thinkingBudget: 512 }, ['reasoning.max_tokens (100 → 512)']],
    [{ effort: 'medium' }, 'gemini-3-flash', { includeThoughts: true, thinkingLevel: 'medium' }, []],
    [{ effort: 'max' }, 'gemini-3-flash', { thinkingLevel: 'high' }, []],
    [{ effort: 'medium' }, 'gemini-3-pro-preview', { thinkingLevel: 'low' }, ['reasoning.effort (medium → low)']],
    [{ max_tokens: 2000 }, 'gemini-3-pro-preview', { thinkingBudget: 2000 }, []],
  ])('is asked for as the model wants it: %j of %s', (reasoning, model, config, dropped) => {
    expect(think(reasoning, model)).toMatchObject({ config, dropped });
  });

  it('is no matter of models that do not think', () => {
    expect(think({ effort: 'high' }, 'gemini-2.0-flash')).toEqual({ config: undefined, dropped: ['reasoning.effort'] });
  });

  it('is weighed against the output limit, and changed by the last update', () => {
    expect(think({ effort: 'high' }, 'gemini-2.5-flash', { max_output_tokens: 1000 }).config).toMatchObject({
      thinkingBudget: 800,
    });
    const update: InputItem = { type: 'configuration_update', reasoning: { effort: 'none' } };
    expect(think({ effort: 'high' }, 'gemini-2.5-flash', { input: [hello, update] }).config).toMatchObject({
      thinkingBudget: 0,
    });
  });
});

describe('settings', () => {
  it('keep their meaning under other names', () => {
    expect(
      configOf({
        max_output_tokens: 9,
        temperature: 1.5,
        top_p: 0.5,
        top_k: 4,
        frequency_penalty: 1,
        presence_penalty: -1,
        top_logprobs: 2,
        modalities: ['text', 'image'],
        text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' } } },
      }),
    ).toEqual({
      maxOutputTokens: 9,
      temperature: 1.5,
      topP: 0.5,
      topK: 4,
      frequencyPenalty: 1,
      presencePenalty: -1,
      responseLogprobs: true,
      logprobs: 2,
      responseModalities: ['TEXT', 'IMAGE'],
      responseMimeType: 'application/json',
      responseJsonSchema: { type: 'object' },
      dropped: [],
    });
    expect(configOf({ text: { format: { type: 'json_object' } } })).toEqual({
      responseMimeType: 'application/json',
      dropped: [],
    });
  });

  it('are named when they have no place', () => {
    const { dropped } = write({
      parallel_tool_calls: false,
      metadata: { a: 'b' },
      service_tier: 'flex',
      prompt_cache_key: 'k',
      cache_control: { type: 'ephemeral' },
      text: { verbosity: 'low' },
    });
    expect(dropped.sort()).toEqual([
      'cache_control',
      'metadata',
      'parallel_tool_calls',
      'prompt_cache_key',
      'service_tier',
      'text.verbosity',
    ]);
  });

  it('never name the end user', () => {
    const { body } = write({ user: 'ada@example.org', safety_identifier: 'ada@example.org' }, { endUser: 'hg_1' });
    expect(JSON.stringify(body)).not.toContain('ada@');
  });
});
