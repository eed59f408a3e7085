import { expect } from 'vitest';
import type { ResponseRequest } from '../../../domain/request.ts';
import type { RuleCase } from './case.ts';
import { sampleItems } from './sample-items.ts';

const { user } = sampleItems;
const call = { type: 'function_call', call_id: 'c'.repeat(70), name: 'f', arguments: '{}' } as const;
const output = { type: 'function_call_output', call_id: 'c'.repeat(70), output: 'x' } as const;
const tool = (name: string, more: object = {}): NonNullable<ResponseRequest['tools']>[number] => ({
  type: 'function',
  name,
  parameters: { type: 'object', properties: {} },
  ...more,
});
const long = 'n'.repeat(80);
const shortened = expect.stringMatching(/^n{55}_[0-9a-f]{8}$/);
const json: Pick<ResponseRequest, 'text'> = { text: { format: { type: 'json_object' } } };
const many = Array.from({ length: 129 }, (_, index) => tool(`f${index}`));
const stop = ['a', 'b', 'c', 'd', 'e'];

/** A schema with an optional property in an inner object. */
const whole = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false };
const partly = { ...whole, properties: { a: { ...whole, required: [] } } };

const image = { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' } as const;

export const openaiCases: RuleCase[] = [
  {
    rules: ['chat/parameters', 'chat/schema-root', 'chat/schema-properties'],
    request: {
      tools: [{ type: 'function', name: 'f' } as never, { type: 'function', name: 'g', parameters: {}, strict: null }],
    },
    body: {
      tools: [
        { function: { parameters: { type: 'object', properties: {} } } },
        { function: { parameters: { type: 'object', properties: {} } } },
      ],
    },
  },
  { rules: 'chat/cache-retention', request: { prompt_cache_retention: '24h' }, without: ['prompt_cache_retention'] },
  {
    rules: 'openai/strict',
    request: {
      tools: [tool('f', { strict: true, parameters: partly }), tool('g', { strict: true, parameters: whole })],
      text: { format: { type: 'json_schema', name: 'a', strict: true, schema: partly } },
    },
    dropped: ['tools.f.strict', 'text.format.strict'],
  },
  {
    rules: 'openai/cache-retention',
    request: { prompt_cache_retention: '24h' },
    body: { prompt_cache_retention: '24h' },
  },
  { rules: 'openai/account-identity', request: {}, body: { safety_identifier: 'hg_account' } },
  { rules: 'azure/account-identity', request: {}, body: { safety_identifier: 'hg_account' } },
  {
    rules: 'openai/compaction',
    request: { input: [user, { type: 'compaction_trigger' }], standalone_compaction: true, max_output_tokens: 100 },
    body: { input: [user] },
    without: ['max_output_tokens', 'store', 'stream'],
    dropped: ['max_output_tokens'],
  },
  {
    rules: 'openai/search-sources',
    request: { tools: [{ type: 'web_search' }] },
    body: { include: ['web_search_call.action.sources'] },
  },
  { rules: 'chat/names', request: { tools: [tool(long)] }, body: { tools: [{ function: { name: shortened } }] } },
  {
    rules: 'chat/schema-properties',
    request: { tools: [tool('f', { parameters: { type: 'object' } })] },
    body: { tools: [{ function: { parameters: { type: 'object', properties: {} } } }] },
  },
  {
    rules: 'chat/schema-root',
    request: { tools: [tool('f', { parameters: { type: ['object', 'null'], properties: { a: {} } } })] },
    body: { tools: [{ function: { parameters: { type: 'object', properties: { a: {} } } } }] },
  },
  {
    rules: 'chat/arguments',
    request: {
      input: [
        { type: 'function_call', call_id: 'c', name: 'f', arguments: '{"a":' },
        { type: 'function_call_output', call_id: 'c', output: 'ok' },
      ] as never,
    },
    body: { messages: [{ tool_calls: [{ function: { arguments: '{"arguments":"{\\"a\\":"}' } }] }, {}] },
  },
  {
    rules: 'chat/message-names',
    request: { input: [{ type: 'message', role: 'user', content: 'Hi', name: 'Ada Lovelace' } as never] },
    body: { messages: [{ name: 'Ada_Lovelace' }] },
  },
  {
    rules: 'openai/descriptions',
    request: { tools: [tool('f', { description: 'd'.repeat(2000) })] },
    body: { tools: [{ function: { description: 'd'.repeat(1024) } }] },
    dropped: ['tools.f.description'],
  },
  { rules: 'openai/tools', request: { tools: many }, error: /takes at most 128 tools/ },
  { rules: 'responses/tools', request: { tools: many }, error: /takes at most 128 tools/ },
  { rules: 'openai/stops', request: { stop }, body: { stop: ['a', 'b', 'c', 'd'] } },
  { rules: 'openai/json-word', request: json, body: { messages: [{ content: expect.stringContaining('JSON') }, {}] } },
  { rules: 'responses/json-word', request: json, body: { input: [{ content: expect.stringContaining('JSON') }, {}] } },
  {
    rules: 'responses/call-ids',
    request: { input: [user, call, output] },
    body: { input: [{}, { call_id: expect.stringMatching(/^.{24}$/) }, { call_id: expect.stringMatching(/^.{24}$/) }] },
  },
  { rules: 'responses/output', request: { max_output_tokens: 1 }, body: { max_output_tokens: 16 } },
  {
    rules: 'responses/tool-settings',
    request: { parallel_tool_calls: true, tool_choice: 'auto' },
    without: ['parallel_tool_calls', 'tool_choice'],
  },
  { rules: 'responses/names', request: { tools: [tool(long)] }, body: { tools: [{ name: shortened }] } },
  {
    rules: 'responses/schema-properties',
    request: { tools: [tool('f', { parameters: { type: 'object' } })] },
    body: { tools: [{ parameters: { type: 'object', properties: {} } }] },
  },
  {
    rules: 'responses/schema-root',
    request: { tools: [tool('f', { parameters: { properties: { a: {} } } })] },
    body: { tools: [{ parameters: { type: 'object', properties: { a: {} } } }] },
  },
  { rules: 'gpt-5/sampling', request: { temperature: 0, top_p: 0.5 }, without: ['temperature', 'top_p'] },
  {
    rules: 'gpt-5-1/sampling',
    request: { temperature: 0, reasoning: { effort: 'low' } },
    without: ['temperature'],
    dropped: ['temperature'],
  },
  { rules: 'gpt-5-1/sampling', request: { temperature: 0 }, body: { temperature: 0 } },
  { rules: 'gpt-5/stop', request: { stop: ['END'] }, without: ['stop'] },
  {
    rules: 'gpt-5/penalties',
    request: { frequency_penalty: 1, presence_penalty: 1, logit_bias: { 5: 1 } },
    without: ['frequency_penalty', 'presence_penalty', 'logit_bias'],
  },
  { rules: 'gpt-5/logprobs', request: { logprobs: true, top_logprobs: 2 }, without: ['logprobs', 'top_logprobs'] },
  { rules: 'gpt-oss/efforts', request: { reasoning: { effort: 'xhigh' } }, effort: 'high' },
  { rules: 'o-series/efforts', request: { reasoning: { effort: 'xhigh' } }, effort: 'high' },
  {
    rules: 'o-series/parallel',
    request: { tools: [tool('f')], parallel_tool_calls: true },
    without: ['parallel_tool_calls'],
  },
  { rules: 'gpt-5/efforts', request: { reasoning: { effort: 'none' } }, effort: 'minimal' },
  {
    rules: 'gpt-5/search',
    request: { tools: [{ type: 'web_search' }], reasoning: { effort: 'minimal' } },
    effort: 'low',
    dropped: ['reasoning.effort (minimal → low)'],
  },
  {
    rules: ['o-series/verbosity'],
    request: { text: { verbosity: 'low' } },
    without: ['verbosity'],
  },
  {
    rules: ['o-series-responses/verbosity'],
    request: { text: { verbosity: 'low' } },
    without: ['text'],
  },
  { rules: 'gpt-5/output', request: { max_output_tokens: 200_000 }, limit: 128_000 },
  { rules: 'gpt-5-1/efforts', request: { reasoning: { effort: 'minimal' } }, effort: 'none' },
  { rules: 'gpt-5-2/efforts', request: { reasoning: { effort: 'xhigh' } }, effort: 'xhigh' },
  {
    rules: ['chat/cache-key', 'responses/cache-key'],
    request: { prompt_cache_key: 'k'.repeat(65) },
    body: { prompt_cache_key: expect.stringMatching(/^[0-9a-f]{64}$/) },
  },
  {
    rules: 'responses/cache-key',
    request: { prompt_cache_key: 'k'.repeat(64) },
    body: { prompt_cache_key: 'k'.repeat(64) },
  },
  { rules: 'gpt-5-6/output', request: { max_output_tokens: 200_000 }, limit: 128_000 },
  { rules: 'gpt-5-6/efforts', request: { reasoning: { effort: 'max' } }, effort: 'max' },
  {
    rules: 'gpt-5-6/sampling',
    request: { temperature: 0, top_p: 0.5, top_logprobs: 2 },
    without: ['temperature', 'top_p', 'top_logprobs', 'logprobs'],
    dropped: ['temperature', 'top_p', 'top_logprobs'],
  },
  { rules: 'gpt-5-6/sampling', request: { temperature: 0, reasoning: { effort: 'none' } }, body: { temperature: 0 } },
  { rules: 'gpt-6-astra/efforts', request: { reasoning: { effort: 'minimal' } }, effort: 'low' },
  { rules: 'gpt-6-2/efforts', request: { reasoning: { effort: 'max' } }, effort: 'xhigh' },
  { rules: 'gpt-5-pro/efforts', request: { reasoning: { effort: 'low' } }, effort: 'high' },
  { rules: 'gpt-5-codex/efforts', request: { reasoning: { effort: 'minimal' } }, effort: 'low' },
  { rules: 'gpt-5-3-codex/efforts', request: { reasoning: { effort: 'minimal' } }, effort: 'low' },
  {
    rules: 'gpt-5-1-responses/logprobs',
    request: { include: ['message.output_text.logprobs'], top_logprobs: 2, reasoning: { effort: 'low' } },
    without: ['include', 'top_logprobs'],
  },
  {
    rules: 'gpt-5-6-responses/logprobs',
    request: { include: ['message.output_text.logprobs'], top_logprobs: 2 },
    without: ['include', 'top_logprobs'],
  },
  {
    rules: 'gpt-5-6-chat/effort-and-tools',
    request: { tools: [tool('f')] },
    body: { reasoning_effort: 'none' },
    dropped: ['reasoning'],
  },
  { rules: 'gpt-6-astra-chat/tools', request: { tools: [tool('f')] }, error: /has no function tools/ },
  {
    rules: 'gpt-5-4/effort-and-tools',
    request: { tools: [tool('f')], reasoning: { effort: 'high' } },
    body: { reasoning_effort: 'none' },
  },
  { rules: 'gpt-4/reasoning', request: { reasoning: { effort: 'low' } }, without: ['reasoning_effort'] },
  { rules: 'gpt-4/verbosity', request: { text: { verbosity: 'low' } }, without: ['verbosity'] },
  {
    rules: 'gpt-4-responses/reasoning',
    request: { reasoning: { effort: 'low', summary: 'auto' } },
    without: ['reasoning'],
    dropped: ['reasoning'],
  },
  { rules: 'gpt-4-responses/verbosity', request: { text: { verbosity: 'low' } }, without: ['text'] },
  { rules: 'gpt-4-responses/sealed', request: { include: ['reasoning.encrypted_content'] }, without: ['include'] },
  { rules: 'gpt-4o/output', request: { max_output_tokens: 32_000 }, limit: 16_384 },
  { rules: 'gpt-4-1/output', request: { max_output_tokens: 64_000 }, limit: 32_768 },
  { rules: 'gpt-3-5/output', request: { max_output_tokens: 64_000 }, limit: 4096 },
  {
    rules: 'chat/result-images',
    request: { input: [user, call, { ...output, output: [image] }] },
    body: { messages: [{}, {}, { role: 'tool' }, { role: 'user', content: [{ type: 'image_url' }] }] },
  },
  {
    rules: 'chat/results',
    request: { input: [user, call, user] },
    body: { messages: [{}, {}, { role: 'tool', tool_call_id: 'c'.repeat(70) }, {}] },
  },
  {
    rules: 'responses/results',
    request: { input: [user, call, { ...output, call_id: 'other' }] },
    body: { input: [{}, {}, { type: 'function_call_output' }, { role: 'user', content: [{}, { text: 'x' }] }] },
  },
  { rules: 'github/cache-retention', request: { prompt_cache_retention: '24h' }, without: ['prompt_cache_retention'] },
];
