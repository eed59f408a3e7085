import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anthropicMessages } from '../../src/providers/anthropic-messages/index.ts';
import { checkMessagesBody, readMessagesRequest } from '../../src/requests/messages/request.ts';

const image = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' };
const mark = { cache_control: { type: 'ephemeral', ttl: '1h' } };

/** Writes a body as the native wire sends it. */
function sendNatively(body: object, betas: string[] = []) {
  const { request } = readMessagesRequest(
    checkMessagesBody(structuredClone(body)),
    { version: '2026-10-21', betas },
    {},
  );
  const target = { endpoint: 'a model', upstreamModel: 'claude-sonnet-4-5', stream: false, dialect: {} };
  const written = anthropicMessages.text.writeRequest(request, target);
  return { ...written, body: written.body as Record<string, unknown> };
}

const base = { model: 'anthropic/claude-sonnet-4.5', max_tokens: 4096 };
const user = (...content: object[]) => ({ role: 'user', content });
const assistant = (...content: object[]) => ({ role: 'assistant', content });
const text = (words: string, more?: object) => ({ type: 'text', text: words, ...more });

const conversation = [
  user(
    text('Look', mark),
    { type: 'image', source: image, ...mark },
    { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
    { type: 'image', source: { type: 'file', file_id: 'file_011' } },
    {
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
      citations: { enabled: true },
      ...mark,
    },
    { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' }, title: 'A', context: 'of B' },
    {
      type: 'document',
      source: { type: 'text', media_type: 'text/plain', data: 'Plain words' },
      title: 'T',
      context: 'C',
      citations: { enabled: true },
      ...mark,
    },
    { type: 'document', source: { type: 'content', content: 'One text' }, title: 'U' },
    {
      type: 'document',
      source: { type: 'content', content: [text('a'), { type: 'image', source: image }, text('b', mark)] },
      citations: { enabled: true },
    },
    {
      type: 'search_result',
      source: 'kb://1',
      title: '',
      content: [text('x'), text('y')],
      citations: { enabled: true },
      ...mark,
    },
    { type: 'search_result', source: 'kb://2', title: 'Two', content: [text('z')] },
    { type: 'container_upload', file_id: 'file_012' },
  ),
  assistant(
    { type: 'thinking', thinking: 'Hm.\n\nOk.', signature: 'EqQBCgIYAhIM==' },
    { type: 'redacted_thinking', data: 'EmwKAhgBEgy3va3pzix/LafPsn4a==' },
    text('I search', { citations: [{ type: 'char_location', cited_text: 'Plain', document_index: 2 }] }),
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } },
    {
      type: 'web_search_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: [{ type: 'web_search_result', url: 'https://a', title: 't', encrypted_content: 'Eo4', page_age: null }],
    },
    text('', { cache_control: null }),
    text('Found.', mark),
    { type: 'tool_use', id: 'toolu_1', name: 'get', input: { b: 1, a: [1.5, 'ü'] }, ...mark },
    { type: 'tool_use', id: 'toolu_2', name: 'get', input: {}, caller: { type: 'direct' } },
  ),
  user(
    { type: 'tool_result', tool_use_id: 'toolu_1', content: 'no', is_error: true, ...mark },
    {
      type: 'tool_result',
      tool_use_id: 'toolu_2',
      content: [
        text('see'),
        { type: 'image', source: image },
        { type: 'search_result', source: 's', title: 't', content: [text('c')] },
        { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'D' } },
        { type: 'tool_reference', tool_name: 'get' },
      ],
    },
    text('Go on'),
  ),
];

describe('a body of the Messages API on the native wire', () => {
  it('keeps every block, field and value', () => {
    const body = {
      ...base,
      system: [text('x-anthropic-billing-header: cc_version=2.1'), text('You are', mark)],
      messages: conversation,
      tools: [
        {
          name: 'get',
          description: 'Gets',
          input_schema: { type: 'object', properties: { b: { type: 'number' } } },
          strict: true,
          eager_input_streaming: true,
          input_examples: [{ b: 1 }],
          allowed_callers: ['direct'],
          ...mark,
        },
        { type: 'bash_20250124', name: 'bash' },
        { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: 10000 },
        { type: 'computer_20250124', name: 'computer', display_width_px: 1024, display_height_px: 768 },
        { type: 'web_search_20260209', name: 'web_search', max_uses: 3, allowed_domains: ['a.example'], ...mark },
      ],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      thinking: { type: 'enabled', budget_tokens: 2000, display: 'omitted' },
      output_config: { effort: 'low', format: { type: 'json_schema', schema: { type: 'object' } } },
      stop_sequences: ['END', '\n\nHuman:'],
      temperature: 1,
      top_k: 5,
      container: 'container_1',
      context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
      inference_geo: 'eu',
      something_new: { deep: [1, 2] },
      speed: 'fast',
      cache_control: { type: 'ephemeral' },
      service_tier: 'standard_only',
      metadata: { user_id: 'u' },
    };

    const { body: sent, headers, dropped } = sendNatively(body, ['context-1m-2025-08-07', 'new-2027']);

    const { model: _, metadata: __, service_tier: ___, ...rest } = body;
    const [first, second, third] = conversation;
    const withoutEmpty = {
      ...second!,
      content: second!.content.filter((block) => !('text' in block) || block.text !== ''),
    };
    expect({ ...rest, messages: [first, withoutEmpty, third] }).toEqual(
      Object.fromEntries(Object.keys(rest).map((name) => [name, sent[name]])),
    );
    expect(headers?.['anthropic-beta']?.split(',')).toEqual(
      expect.arrayContaining(['context-1m-2025-08-07', 'new-2027']),
    );
    expect(headers?.['anthropic-version']).toBe('2026-10-21');
    expect(dropped).toEqual([]);
  });
});

/** Texts that providers accept: none is empty. */
const words = fc.string({ minLength: 1, maxLength: 8, unit: 'grapheme' });
const fields = (shape: Record<string, fc.Arbitrary<unknown>>, optional: Record<string, fc.Arbitrary<unknown>> = {}) =>
  fc.record({ ...shape, ...optional }, { requiredKeys: Object.keys(shape) });
const marks = { cache_control: fc.constantFrom({ type: 'ephemeral' }, { type: 'ephemeral', ttl: '1h' }) };
const cited = { citations: fc.constant({ enabled: true }) };
const textBlock = fields({ type: fc.constant('text'), text: words }, marks);
const imageBlock = fields({ type: fc.constant('image'), source: fc.constant(image) }, marks);
const source = fc.oneof(
  fields({ type: fc.constant('text'), media_type: fc.constant('text/plain'), data: words }),
  fields({ type: fc.constant('url'), url: fc.constant('https://a.example/b.pdf') }),
  fields({
    type: fc.constant('content'),
    content: fc.array(fc.oneof(textBlock, imageBlock), { minLength: 1, maxLength: 3 }),
  }),
  fields({ type: fc.constant('base64'), media_type: fc.constant('application/pdf'), data: fc.constant('JVBERi0=') }),
);
const documentBlock = fields(
  { type: fc.constant('document'), source },
  { title: words, context: words, ...cited, ...marks },
);
const resultBlock = fields(
  {
    type: fc.constant('search_result'),
    source: words,
    title: fc.string(),
    content: fc.array(textBlock, { minLength: 1, maxLength: 3 }),
  },
  { ...cited, ...marks },
);
const userBlocks = fc.array(
  fc.oneof(
    textBlock,
    imageBlock,
    documentBlock,
    resultBlock,
    fields({ type: fc.constant('new_kind'), deep: fc.array(words) }),
  ),
  { minLength: 1, maxLength: 5 },
);
const modelBlocks = fc.array(
  fc.oneof(
    textBlock,
    fields({ type: fc.constant('thinking'), thinking: fc.string(), signature: fc.base64String({ minLength: 4 }) }),
    fields({ type: fc.constant('redacted_thinking'), data: fc.base64String({ minLength: 4 }) }),
    fields(
      { type: fc.constant('tool_use'), id: fc.uuid(), name: fc.constant('f'), input: fc.dictionary(words, words) },
      marks,
    ),
    fields({ type: fc.constant('server_tool_use'), id: words, name: words, input: fc.dictionary(words, words) }),
  ),
  { minLength: 1, maxLength: 5 },
);

it('any conversation of known and unknown blocks reaches the native wire unchanged', () => {
  fc.assert(
    fc.property(
      userBlocks,
      modelBlocks,
      fc.array(fc.oneof(textBlock, resultBlock), { maxLength: 3 }),
      (asked, said, results) => {
        const calls = said.filter((block) => block['type'] === 'tool_use') as { id: string }[];
        const outputs = calls.map(({ id }) => ({
          type: 'tool_result',
          tool_use_id: id,
          content: results,
          is_error: true,
        }));
        const last = outputs.length > 0 ? outputs : [text('Go on')];
        const messages = [user(...asked), assistant(...said), user(...last)];
        const sent = sendNatively({ ...base, messages });
        expect(sent.body['messages']).toEqual(JSON.parse(JSON.stringify(messages)));
        expect(sent.dropped).toEqual([]);
      },
    ),
    { numRuns: 100 },
  );
});

it('a null is a field that is not set', () => {
  const nulls = { max_tokens: null, system: null, thread: null, tools: null, thinking: null, stop_sequences: null };
  const messages = [user(text('Hi'))];
  expect(sendNatively({ ...base, messages, ...nulls })).toEqual(sendNatively({ model: base.model, messages }));
});

it('a role of chat completions is rejected with the role of this format', () => {
  const check = (role: string) => () => checkMessagesBody({ ...base, messages: [{ role, content: 'x' }] });
  expect(check('tool')).toThrow('did you mean `user`?');
  expect(check('developer')).toThrow('did you mean `system`?');
});

it('an effort becomes the budget of a model that has none, and is not sent', () => {
  const asked = { ...base, messages: [user(text('Hi'))], thinking: { type: 'adaptive' } };
  const { body } = sendNatively({ ...asked, output_config: { effort: 'low', format: null } });
  expect(body).toMatchObject({ thinking: { type: 'enabled' }, output_config: { format: null } });
  expect(body['output_config']).not.toHaveProperty('effort');
  expect(sendNatively({ ...asked, output_config: { effort: 'low' } }).body['output_config']).toBeUndefined();
});
