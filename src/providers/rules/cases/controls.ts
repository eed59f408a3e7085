import { expect } from 'vitest';
import type { ResponseRequest } from '../../../domain/request.ts';
import type { RuleCase } from './case.ts';
import { sampleItems } from './sample-items.ts';

const { user, said, call, output, thought } = sampleItems;
const tool = (name = 'f'): NonNullable<ResponseRequest['tools']>[number] => ({
  type: 'function',
  name,
  parameters: { type: 'object', properties: {} },
});
const tools = [tool()];
const schema = { type: 'object', properties: { a: { type: 'string' } } };
const format: Pick<ResponseRequest, 'text'> = { text: { format: { type: 'json_schema', name: 'a', schema } } };
const json: Pick<ResponseRequest, 'text'> = { text: { format: { type: 'json_object' } } };
const none: RuleCase['request'] = { reasoning: { effort: 'none' } };
const low: RuleCase['request'] = { reasoning: { effort: 'low' } };
const image = { type: 'input_image', detail: 'auto', image_url: 'data:image/png;base64,iVBORw0KGgo=' } as const;
const marked = { type: 'input_text', text: 'Hi', cache_control: { type: 'ephemeral' } } as const;
const thoughts = { input: [user, thought, call, output] };
const limit = { max_output_tokens: 100 };
const neighbors: RuleCase['request'] = { input: [said, user, user] };
const alternating = { messages: [{ role: 'user' }, { role: 'assistant' }, { content: 'Hi\n\nHi' }] };
const enabled = { thinking: { type: 'enabled', clear_thinking: false } };

/** Cases of the ways in which servers turn reasoning on and off, bound it and take it back, and of what their models lack. */
export const controlCases: RuleCase[] = [
  { rules: 'deepseek/top-p', request: { top_p: 0 }, body: { top_p: 0.01 } },
  {
    rules: 'alibaba/thinking',
    request: { reasoning: { max_tokens: 2000 } },
    body: { enable_thinking: true, thinking_budget: 2000 },
    without: ['reasoning_effort'],
  },
  { rules: 'alibaba/thinking', request: low, body: { enable_thinking: true, thinking_budget: 6400 } },
  {
    rules: 'alibaba/thinking',
    request: { reasoning: { effort: 'high' } },
    body: { enable_thinking: true },
    without: ['thinking_budget'],
  },
  { rules: 'alibaba/sampling', request: { temperature: 2, top_p: 0 }, body: { temperature: 1.99, top_p: 0.01 } },
  {
    rules: 'alibaba/reserved',
    request: { tools: [tool('search')] },
    body: { tools: [{ function: { name: expect.stringMatching(/^search_/) } }] },
  },
  {
    rules: 'alibaba/format',
    request: { ...json, ...low },
    without: ['response_format'],
    dropped: ['text.format'],
  },
  {
    rules: 'alibaba-thinking/always',
    request: { ...none, tools, tool_choice: 'required' },
    without: ['enable_thinking', 'tool_choice', 'reasoning_effort'],
    dropped: ['reasoning', 'tool_choice'],
  },
  { rules: 'alibaba-qwen3-8/efforts', request: low, effort: 'low', without: ['thinking_budget', 'enable_thinking'] },
  {
    rules: 'alibaba-qwen3-8/efforts',
    request: { reasoning: { max_tokens: 2000 } },
    body: { thinking_budget: 2000 },
    without: ['reasoning_effort'],
  },
  { rules: 'kimi-k2-5/temperatures', request: { temperature: 1 }, body: { temperature: 1 } },
  { rules: 'kimi-k2-5/temperatures', request: { ...none, temperature: 0.6 }, body: { temperature: 0.6 } },
  { rules: 'kimi-k2-5/temperatures', request: { ...none, temperature: 1 }, without: ['temperature'] },
  {
    rules: 'kimi-k2-5/penalties',
    request: { frequency_penalty: 0.5, presence_penalty: 0 },
    body: { presence_penalty: 0 },
    without: ['frequency_penalty'],
  },
  { rules: 'kimi/partial', request: { input: [user, said] }, body: { messages: [{}, { partial: true }] } },
  { rules: 'glm-4-7/keep', request: {}, body: enabled },
  { rules: 'glm-4-7/keep', request: low, body: enabled },
  { rules: 'glm-4-7/keep', request: none, body: { thinking: { type: 'disabled' } } },
  { rules: 'glm-5-2/keep', request: low, body: { ...enabled, reasoning_effort: 'low' } },
  { rules: 'minimax/top-p', request: { top_p: 0 }, body: { top_p: 0.01 } },
  { rules: 'minimax-m/format', request: format, without: ['response_format'], dropped: ['text.format'] },
  { rules: 'minimax-messages/format', request: format, without: ['output_config'], dropped: ['text.format'] },
  { rules: 'groq-compound/tools', request: { tools }, error: /has no function tools/ },
  { rules: 'groq-qwen3-8/effort', request: low, effort: 'low' },
  { rules: 'groq/tiers', request: { service_tier: 'default' }, without: ['service_tier'] },
  { rules: 'groq/tiers', request: { service_tier: 'flex' }, body: { service_tier: 'flex' } },
  { rules: 'cerebras/format', request: { ...format, tools }, without: ['response_format'] },
  { rules: 'cerebras/effort', request: low, without: ['reasoning_effort'], dropped: ['reasoning.effort'] },
  { rules: 'cerebras-gpt-oss/effort', request: none, effort: 'low' },
  { rules: 'cerebras-glm/effort', request: none, effort: 'none' },
  { rules: 'cerebras-glm/effort', request: low, without: ['reasoning_effort'] },
  {
    rules: 'cerebras-glm/reasoning-back',
    request: thoughts,
    body: { messages: [{}, { content: '<think>Hm.</think>', tool_calls: [{}] }, {}] },
  },
  { rules: 'together-hybrid/thinking', request: none, body: { reasoning: { enabled: false } } },
  { rules: 'together-hybrid/thinking', request: low, body: { reasoning: { enabled: true } } },
  { rules: 'deepinfra-qwen-max/format', request: format, body: { response_format: { type: 'json_object' } } },
  { rules: 'grok-3-mini/efforts', request: { reasoning: { effort: 'xhigh' } }, effort: 'high' },
  { rules: 'perplexity/format', request: json, body: { response_format: { type: 'json_schema' } } },
  { rules: 'cohere/effort', request: low, effort: 'high' },
  { rules: 'cohere/effort', request: none, effort: 'none' },
  {
    rules: 'cohere/fields',
    request: { logit_bias: { 1: 1 }, top_logprobs: 2 },
    without: ['logit_bias', 'top_logprobs'],
  },
  {
    rules: 'nvidia-template/thinking',
    request: none,
    body: { chat_template_kwargs: { enable_thinking: false } },
    without: ['reasoning_effort'],
  },
  { rules: 'nvidia-thinking/thinking', request: low, body: { chat_template_kwargs: { thinking: true } } },
  { rules: 'gateways-gpt-5/max-tokens', request: limit, body: { max_completion_tokens: 100 } },
  {
    rules: 'databricks-claude/thinking',
    request: { ...low, max_output_tokens: 10_000 },
    body: { max_tokens: 10_000, thinking: { type: 'enabled', budget_tokens: 2000 } },
    without: ['reasoning_effort'],
  },
  {
    rules: 'databricks-claude/thinking',
    request: { reasoning: { max_tokens: 20_000 }, max_output_tokens: 8000 },
    body: { thinking: { budget_tokens: 7999 } },
    dropped: ['reasoning.max_tokens (20000 → 7999)'],
  },
  {
    rules: 'databricks-claude/thinking',
    request: { reasoning: { effort: 'high' } },
    body: { max_tokens: 33_792, thinking: { budget_tokens: 25_600 } },
  },
  {
    rules: 'databricks-claude/thinking',
    request: { ...low, max_output_tokens: 500 },
    without: ['thinking', 'reasoning_effort'],
    dropped: ['reasoning (the limit of the output is too small)'],
  },
  { rules: 'databricks-claude/thinking', request: none, without: ['thinking', 'reasoning_effort'] },
  { rules: 'databricks-efforts/low', request: none, effort: 'low' },
  { rules: 'databricks-gpt-5-2/efforts', request: none, effort: 'none' },
  { rules: 'databricks-gpt-5/efforts', request: none, effort: 'minimal' },
  {
    rules: 'databricks-gemini-2-5/thinking',
    request: { reasoning: { max_tokens: 30_000 } },
    body: { thinking: { type: 'enabled', budget_tokens: 24_576 } },
  },
  { rules: 'bytedance/max-tokens', request: limit, body: { max_tokens: 100 } },
  { rules: 'bytedance/thinking', request: none, body: { thinking: { type: 'disabled' } } },
  { rules: 'bytedance/thinking', request: thoughts, body: { messages: [{}, { reasoning_content: 'Hm.' }, {}] } },
  { rules: 'bytedance/efforts', request: { reasoning: { effort: 'xhigh' } }, effort: 'high' },
  { rules: 'bytedance/omitted-fields', request: { prompt_cache_key: 'k' }, without: ['prompt_cache_key'] },
  { rules: 'bytedance-deepseek/efforts', request: { reasoning: { effort: 'max' } }, effort: 'max' },
  { rules: 'baidu/thinking', request: none, body: { enable_thinking: false } },
  {
    rules: 'baidu/thinking',
    request: { reasoning: { max_tokens: 50 } },
    body: { enable_thinking: true, thinking_budget: 100 },
  },
  { rules: 'baidu/temperature', request: { temperature: 0 }, body: { temperature: 0.01 } },
  { rules: 'baidu/turns', request: neighbors, body: alternating },
  { rules: 'baidu/omitted-fields', request: { prompt_cache_key: 'k' }, without: ['prompt_cache_key'] },
  { rules: 'tencent/max-tokens', request: limit, body: { max_tokens: 100 } },
  { rules: 'tencent/turns', request: neighbors, body: alternating },
  { rules: 'tencent/penalties', request: { frequency_penalty: 1 }, without: ['frequency_penalty'] },
  {
    rules: 'tencent-hy3/reasoning-back',
    request: { input: [user, call, output] },
    body: { messages: [{}, { reasoning_content: '' }, {}] },
  },
  { rules: 'cloudflare/max-tokens', request: { ...limit, top_k: 4 }, body: { max_tokens: 100, top_k: 4 } },
  { rules: 'cloudflare/reasoning-back', request: thoughts, body: { messages: [{}, { reasoning: 'Hm.' }, {}] } },
  { rules: 'cloudflare/omitted-fields', request: { prompt_cache_key: 'k' }, without: ['prompt_cache_key'] },
  { rules: 'tgi/top-p', request: { top_p: 1 }, body: { top_p: 0.99 } },
  { rules: 'tgi/max-tokens', request: limit, body: { max_tokens: 100 } },
  {
    rules: ['fireworks/reasoning-back', 'llama-cpp/reasoning-back'],
    request: thoughts,
    body: { messages: [{}, { reasoning_content: 'Hm.' }, {}] },
  },
  {
    rules: 'vllm/reasoning-back',
    request: thoughts,
    body: { messages: [{}, { reasoning: 'Hm.', reasoning_content: 'Hm.' }, {}] },
  },
  { rules: 'ollama/reasoning-back', request: thoughts, body: { messages: [{}, { reasoning: 'Hm.' }, {}] } },
  {
    rules: 'template-qwen/thinking',
    request: none,
    body: { chat_template_kwargs: { enable_thinking: false } },
    without: ['reasoning_effort'],
  },
  { rules: 'template-deepseek/thinking', request: low, body: { chat_template_kwargs: { thinking: true } } },
  { rules: 'mistral/greedy', request: { temperature: 0, top_p: 0.9 }, without: ['top_p'], dropped: ['top_p'] },
  { rules: 'mistral/greedy', request: { temperature: 0.2, top_p: 0.9 }, body: { top_p: 0.9 } },
  { rules: 'kimi/temperature', request: { temperature: 1.5 }, without: ['temperature'], dropped: ['temperature'] },
  { rules: 'kimi-k2/forced', request: { tools, tool_choice: 'required' }, without: ['tool_choice'] },
  {
    rules: 'perplexity/sampling',
    request: { temperature: 2, frequency_penalty: 1, presence_penalty: 1 },
    body: { temperature: 1.99, presence_penalty: 1 },
    without: ['frequency_penalty'],
  },
  {
    rules: 'cohere/stops',
    request: { stop: ['a', 'b', 'c', 'd', 'e', 'f'] },
    body: { stop: ['a', 'b', 'c', 'd', 'e'] },
  },
  {
    rules: 'sambanova-template/thinking',
    request: none,
    body: { chat_template_kwargs: { enable_thinking: false } },
    without: ['reasoning_effort'],
  },
  { rules: 'baseten-template/thinking', request: low, body: { chat_template_args: { enable_thinking: true } } },
  {
    rules: 'deepseek-flash/images',
    request: { input: [{ type: 'message', role: 'user', content: [image] }] },
    body: { messages: [{ content: [{ type: 'image_url' }] }] },
  },
  {
    rules: 'alibaba/marks',
    request: { input: [{ type: 'message', role: 'user', content: [marked] }], cache_control: { type: 'ephemeral' } },
    body: { messages: [{ content: [{ cache_control: { type: 'ephemeral' } }] }] },
    without: ['cache_control'],
  },
  {
    rules: 'alibaba/marks',
    request: { input: [{ type: 'message', role: 'user', content: [marked, marked, marked, marked, marked] }] },
    body: {
      messages: [
        {
          content: [
            { type: 'text', text: marked.text },
            ...Array(4).fill({ type: 'text', text: marked.text, cache_control: { type: 'ephemeral' } }),
          ],
        },
      ],
    },
    dropped: ['cache_control (1 of 5; the first ones)'],
  },
];
