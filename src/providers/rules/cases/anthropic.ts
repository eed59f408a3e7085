import { expect } from 'vitest';
import type { MessagePart } from '../../../domain/items.ts';
import type { ResponseRequest } from '../../../domain/request.ts';
import type { RuleCase } from './case.ts';
import { sampleItems } from './sample-items.ts';

const { user } = sampleItems;
const said = (content: string) => ({ type: 'message', role: 'assistant', content }) as const;
const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' }) as const;
const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'x' }) as const;
const marked = (ttl?: '5m' | '1h'): ResponseRequest['input'][number] => ({
  type: 'message',
  role: 'user',
  content: [{ type: 'input_text', text: 'a', cache_control: { type: 'ephemeral', ...(ttl && { ttl }) } }],
});
const word = expect.stringMatching(/^[\w-]+$/);
const tool = (parameters: Record<string, unknown>): ResponseRequest['tools'] => [
  { type: 'function', name: 'f', parameters, strict: null },
];
const format = (schema: Record<string, unknown>): Pick<ResponseRequest, 'text'> => ({
  text: { format: { type: 'json_schema', name: 'a', schema } },
});
const png =
  'data:image/jpeg;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** A request whose client has the format of the wire. */
const native = (fields: Record<string, unknown>, betas: string[] = []): Pick<ResponseRequest, 'native'> => ({
  native: { format: 'anthropic-messages', fields, betas, replaces: {}, tools: {}, version: undefined },
});

const newSearch = { type: 'web_search_20260209', name: 'web_search', allowed_callers: ['direct'] };

/** A block of a tool that a provider has run. */
const hosted = (block: { type: string; [field: string]: unknown }): MessagePart =>
  ({ type: `anthropic:${block.type}`, block }) as unknown as MessagePart;

export const anthropicCases: RuleCase[] = [
  {
    rules: 'messages/call-ids',
    request: { input: [user, call('functions.f:0'), output('functions.f:0')] },
    body: { messages: [{}, { content: [{ id: word }] }, { content: [{ tool_use_id: word }] }] },
  },
  {
    rules: 'claude/hosted-ids',
    request: {
      ...native({}),
      input: [
        user,
        {
          type: 'message',
          role: 'assistant',
          content: [
            hosted({ type: 'server_tool_use', id: 'call_1', name: 'web_search', input: {} }),
            hosted({ type: 'web_search_tool_result', tool_use_id: 'call_1', content: [] }),
            { type: 'output_text', text: 'Found.' },
            hosted({ type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }),
            hosted({ type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }),
          ],
        },
        user,
      ],
    },
    body: { messages: [{}, { content: [{ text: 'Found.' }, { id: 'srvtoolu_1' }, {}] }, {}] },
    dropped: [
      'messages (server_tool_use of another provider)',
      'messages (web_search_tool_result of another provider)',
    ],
  },
  {
    rules: 'messages/unique-ids',
    request: { input: [user, call('a'), output('a'), call('a'), output('a')] },
    body: {
      messages: [{}, { content: [{ id: 'a' }] }, {}, { content: [{ id: expect.not.stringMatching(/^a$/) }] }, {}],
    },
  },
  {
    rules: 'claude-chat/call-ids',
    request: { input: [user, call('a'), output('a'), call('a'), output('a')] },
    body: {
      messages: [
        {},
        { tool_calls: [{ id: 'a' }] },
        { tool_call_id: 'a' },
        { tool_calls: [{ id: expect.not.stringMatching(/^a$/) }] },
        { tool_call_id: expect.not.stringMatching(/^a$/) },
      ],
    },
  },
  {
    rules: ['messages/blank-text', 'messages/failed-result'],
    request: { input: [user, said(' \n'), user] },
    body: { messages: [{ role: 'user', content: [{ text: 'Hi' }, { text: 'Hi' }] }] },
  },
  {
    rules: 'messages/one-message',
    request: { input: [], instructions: 'Be brief.' },
    body: { messages: [{ role: 'user', content: [{ text: 'Be brief.' }] }] },
    without: ['system'],
  },
  {
    rules: 'messages/results',
    request: { input: [user, call('a'), user] },
    body: {
      messages: [{}, {}, { content: [{ type: 'tool_result', tool_use_id: 'a', is_error: true }, { text: 'Hi' }] }],
    },
  },
  {
    rules: 'messages/trailing-space',
    request: { input: [user, said('It is ')] },
    body: { messages: [{}, { content: [{ text: 'It is' }] }] },
  },
  {
    rules: 'messages/schema-root',
    request: {
      tools: tool({
        type: 'object',
        anyOf: [
          { properties: { a: { type: 'string' } }, required: ['a'] },
          { properties: { b: { type: 'number' } }, required: ['b'] },
        ],
      }),
    },
    body: {
      tools: [
        {
          input_schema: {
            type: 'object',
            properties: { a: { type: 'string' }, b: { type: 'number' } },
            description: 'Give one of: a; b.',
          },
        },
      ],
    },
  },
  {
    rules: ['messages/property-names', 'messages/property-names-brackets'],
    request: { tools: tool({ type: 'object', properties: { 'filter[name]': {}, $top: {} }, required: ['$top'] }) },
    body: { tools: [{ input_schema: { properties: { filter_name: {}, top: {} }, required: ['top'] } }] },
  },
  {
    rules: 'messages/modern-schemas',
    request: {
      tools: tool({ type: 'object', properties: { a: { type: 'number', minimum: 0, exclusiveMinimum: true } } }),
    },
    body: { tools: [{ input_schema: { properties: { a: { type: 'number', exclusiveMinimum: 0 } } } }] },
  },
  {
    rules: 'messages/closed-format',
    request: format({ type: 'object', properties: { a: { type: 'object', properties: {} } } }),
    body: {
      output_config: {
        format: { schema: { additionalProperties: false, properties: { a: { additionalProperties: false } } } },
      },
    },
  },
  {
    rules: 'messages/format-bounds',
    request: format({ type: 'object', properties: { a: { type: 'number', minimum: 1 } } }),
    body: {
      output_config: { format: { schema: { properties: { a: { type: 'number', description: '(minimum: 1)' } } } } },
    },
    dropped: ['text.format.schema (minimum'],
  },
  {
    rules: 'messages/marks',
    request: { input: [marked(), marked(), marked(), marked(), marked()] },
    dropped: ['cache_control (1 of 5'],
  },
  {
    rules: 'messages/mark-order',
    request: { input: [marked('5m'), marked('1h')] },
    body: { messages: [{ content: [{ cache_control: { ttl: '1h' } }, { cache_control: { ttl: '1h' } }] }] },
    dropped: ['cache_control.ttl'],
  },
  {
    rules: 'messages/image-type',
    request: {
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_image', image_url: png, detail: 'auto' }] }],
    },
    body: { messages: [{ content: [{ source: { media_type: 'image/png' } }] }] },
  },
  { rules: 'messages/blank-stop', request: { stop: ['\n\n', 'END'] }, body: { stop_sequences: ['END'] } },
  {
    rules: 'claude-4-6/last-turn',
    request: { input: [user, said('It is')] },
    body: { messages: [{}, {}, { role: 'user', content: [{ text: 'Continue.' }] }] },
  },
  {
    rules: 'claude-4-7/sampling',
    request: { temperature: 0.7, top_p: 0.5, top_k: 4 },
    without: ['temperature', 'top_p', 'top_k'],
    dropped: ['temperature', 'top_p', 'top_k'],
  },
  {
    rules: 'claude-4/format',
    request: format({ type: 'object', properties: {} }),
    body: { system: [{ text: expect.stringContaining('JSON schema') }] },
    without: ['output_config'],
    dropped: ['text.format'],
  },
  {
    rules: 'claude-chat/call-ids',
    request: { input: [user, call('functions.f:0'), output('functions.f:0')] },
    body: { messages: [{}, { tool_calls: [{ id: word }] }, { tool_call_id: word }] },
  },
  {
    rules: 'claude-chat/schemas',
    request: { tools: tool({ type: 'object', anyOf: [{ properties: { 'filter[name]': { type: 'string' } } }] }) },
    body: { tools: [{ function: { parameters: { type: 'object', properties: { filter_name: {} } } } }] },
  },
  {
    rules: 'claude-chat/blank-text',
    request: { input: [user, said(' \n'), user] },
    body: { messages: [{ content: 'Hi' }, { content: 'Hi' }] },
  },
  {
    rules: 'claude-chat-4-6/last-turn',
    request: { input: [user, said('It is')] },
    body: { messages: [{}, {}, { role: 'user' }] },
  },
  {
    rules: 'claude-chat-4-7/sampling',
    request: { temperature: 0.7, top_p: 0.5 },
    without: ['temperature', 'top_p'],
    dropped: ['temperature', 'top_p'],
  },
  {
    rules: 'claude-4/effort',
    request: native({ output_config: { effort: 'high' } }),
    without: ['output_config'],
    dropped: ['output_config.effort'],
  },
  { rules: 'claude-haiku-4-5/output', request: { max_output_tokens: 200_000 }, body: { max_tokens: 64_000 } },
  { rules: 'claude-3-5/output', request: { max_output_tokens: 32_000 }, body: { max_tokens: 8192 } },
  { rules: 'claude-3/output', request: { max_output_tokens: 32_000 }, body: { max_tokens: 4096 } },
  {
    rules: 'messages/forced-thinking',
    request: {
      ...native({ thinking: { type: 'enabled', budget_tokens: 1024 } }),
      tools: tool({ type: 'object' }),
      tool_choice: 'required',
    },
    without: ['thinking'],
    dropped: ['reasoning'],
  },
  {
    rules: 'claude/budget',
    request: { ...native({ thinking: { type: 'enabled', budget_tokens: 256 } }), max_output_tokens: 4000 },
    body: { thinking: { type: 'enabled', budget_tokens: 1024 } },
    dropped: ['thinking.budget_tokens (256 → 1024)'],
  },
  {
    rules: 'claude-4-1/one-sampling',
    request: { ...native({}), temperature: 0.5, top_p: 0.5 },
    body: { temperature: 0.5 },
    without: ['top_p'],
    dropped: ['top_p'],
  },
  {
    rules: 'messages/thinking-sampling',
    request: {
      ...native({ thinking: { type: 'enabled', budget_tokens: 1024 } }),
      max_output_tokens: 4000,
      temperature: 0.5,
      top_p: 0.5,
      top_k: 4,
    },
    body: { thinking: { type: 'enabled' }, top_p: 0.95 },
    without: ['temperature', 'top_k'],
    dropped: ['temperature', 'top_k', 'top_p'],
  },
  { rules: 'claude-4/output', request: { max_output_tokens: 200_000 }, body: { max_tokens: 64_000 } },
  { rules: 'claude-opus-4/output', request: { max_output_tokens: 200_000 }, body: { max_tokens: 32_000 } },
  { rules: 'claude-opus-4-6/output', request: { max_output_tokens: 200_000 }, body: { max_tokens: 128_000 } },
  {
    rules: 'bedrock/betas',
    request: native({}, ['claude-code-20250219', 'interleaved-thinking-2025-05-14']),
    headers: { 'anthropic-beta': 'interleaved-thinking-2025-05-14' },
    dropped: ['anthropic-beta (claude-code-20250219)'],
  },
  {
    rules: 'vertex/betas',
    request: native({}, ['prompt-caching-scope-2026-01-05', 'claude-code-20250219']),
    headers: { 'anthropic-beta': 'claude-code-20250219' },
    dropped: ['anthropic-beta (prompt-caching-scope-2026-01-05)'],
  },
  { rules: 'bedrock/tools', request: { input: [user, call('a'), output('a')] }, body: { tools: [{ name: 'f' }] } },
  {
    rules: 'bedrock/alternate',
    request: { input: [user, call('a'), said('So.'), call('a'), output('a')] },
    body: { messages: [{}, { role: 'assistant' }, { role: 'user' }] },
  },
  { rules: 'bedrock-4-6/marks', request: { cache_control: { type: 'ephemeral' } }, without: ['cache_control'] },
  {
    rules: 'bedrock/search',
    request: { tools: [{ type: 'web_search' }] },
    without: ['tools'],
    dropped: ['tools[0] (web_search)'],
  },
  {
    rules: 'claude-clouds/own-fields',
    request: native({ inference_geo: 'global', speed: 'fast', fallbacks: 'default' }),
    without: ['inference_geo', 'speed', 'fallbacks'],
    dropped: ['inference_geo', 'speed', 'fallbacks'],
  },
  ...['claude-clouds/own-fields', 'messages-servers/residency'].map(
    (rules): RuleCase => ({
      rules,
      request: native({ inference_geo: 'us' }),
      error: /^inference_geo: Its provider has no inference_geo/,
    }),
  ),
  ...['claude-4-5/search', 'vertex/search'].map(
    (rules): RuleCase => ({
      rules,
      request: {
        ...native({}),
        tools: [{ type: 'web_search', native: newSearch }] as unknown as ResponseRequest['tools'],
      },
      body: { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
      dropped: ['tools (web_search_20260209 → web_search_20250305)'],
    }),
  ),
  {
    rules: 'claude-4/speed',
    request: native({ speed: 'fast' }),
    without: ['speed'],
    dropped: ['speed'],
  },
  {
    rules: 'claude-4/instructions',
    request: { ...native({}), input: [user, { type: 'message', role: 'system', content: 'Be brief.' }] },
    body: { messages: [{ role: 'user', content: [{ text: 'Hi' }, { text: 'System:' }, { text: 'Be brief.' }] }] },
  },
  {
    rules: 'claude-always/off',
    request: { reasoning: { effort: 'none' } },
    body: { output_config: { effort: 'low' } },
    without: ['thinking'],
    dropped: ['reasoning'],
  },
  {
    rules: 'claude-sonnet-5-5/off',
    request: { reasoning: { effort: 'none' } },
    body: { thinking: { type: 'between_tools' } },
  },
  {
    rules: 'claude-5/effort-off',
    request: native({ thinking: { type: 'disabled' }, output_config: { effort: 'max' } }),
    body: { thinking: { type: 'disabled' }, output_config: { effort: 'high' } },
    dropped: ['output_config.effort (max → high)'],
  },
  {
    rules: 'claude-5-5/forced',
    request: { tools: tool({ type: 'object' }), tool_choice: 'required' },
    body: {
      messages: [{ role: 'user', content: [{ text: 'Hi' }, { text: 'Call one of the tools.' }] }],
      tool_choice: { type: 'auto' },
    },
    dropped: ['tool_choice (required)'],
  },
];
