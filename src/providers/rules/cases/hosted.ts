import { expect } from 'vitest';
import type { ResponseRequest } from '../../../domain/request.ts';
import type { RuleCase } from './case.ts';
import { sampleItems } from './sample-items.ts';

const { user, said, call, output, thought } = sampleItems;
const system = { type: 'message', role: 'system', content: 'Be brief.' } as const;
const scoped = { type: 'ephemeral', scope: 'global' } as const;
const tool = (more: object = {}): NonNullable<ResponseRequest['tools']>[number] => ({
  type: 'function',
  name: 'f',
  parameters: { type: 'object', properties: {} },
  ...more,
});
const tools = [tool()];
const forced = { tools, tool_choice: 'required' } as const;
const schema = { type: 'object', properties: { a: { type: 'string' } } };
const format: Pick<ResponseRequest, 'text'> = { text: { format: { type: 'json_schema', name: 'a', schema } } };
const json: Pick<ResponseRequest, 'text'> = { text: { format: { type: 'json_object' } } };
const off = { thinking: { type: 'disabled' } };
const mentionsJson = { messages: [{ content: expect.stringContaining('JSON') }, {}] };

export const hostedCases: RuleCase[] = [
  {
    rules: 'deepseek/schema',
    request: format,
    body: { response_format: { type: 'json_object' }, ...mentionsJson },
    dropped: ['text.format'],
  },
  { rules: 'deepseek/json-word', request: json, body: mentionsJson },
  { rules: 'deepseek/forced', request: forced, body: { tool_choice: 'required', thinking: { type: 'disabled' } } },
  {
    rules: 'deepseek/reasoning-back',
    request: { input: [user, thought, call, output, user] },
    body: { messages: [{}, { reasoning_content: 'Hm.' }, {}, {}] },
  },
  { rules: 'deepseek/effort', request: { reasoning: { effort: 'max' } }, body: { reasoning_effort: 'max' } },
  { rules: 'deepseek/effort', request: { reasoning: { effort: 'none' } }, body: off, without: ['reasoning_effort'] },
  { rules: 'grok-4-3/efforts', request: { reasoning: { effort: 'xhigh' } }, effort: 'high' },
  { rules: 'grok-4-5/efforts', request: { reasoning: { effort: 'none' } }, effort: 'low' },
  { rules: 'grok-4-6/efforts', request: { reasoning: { effort: 'max' } }, effort: 'xhigh' },
  { rules: 'kimi-k2-5/thinking', request: { reasoning: { effort: 'low' } }, body: { thinking: { type: 'enabled' } } },
  { rules: 'kimi-k2-5/thinking', request: { reasoning: { enabled: false } }, body: off },
  { rules: 'kimi-k3/efforts', request: { reasoning: { effort: 'none' } }, body: { reasoning_effort: 'low' } },
  { rules: 'glm/thinking', request: { reasoning: { effort: 'none' } }, body: off },
  { rules: 'glm-5-2/efforts', request: { reasoning: { effort: 'none' } }, body: off },
  { rules: 'glm-5-2/efforts', request: { reasoning: { effort: 'xhigh' } }, body: { reasoning_effort: 'xhigh' } },
  { rules: 'glm-5-3/efforts', request: { reasoning: { effort: 'none' } }, body: { reasoning_effort: 'low' } },
  {
    rules: 'minimax-m3/thinking',
    request: { reasoning: { effort: 'high' } },
    body: { thinking: { type: 'adaptive' } },
  },
  { rules: 'minimax-m3/thinking', request: { reasoning: { effort: 'none' } }, body: off },
  { rules: 'xiaomi/thinking', request: { reasoning: { effort: 'none' } }, body: off },
  {
    rules: 'xiaomi/reasoning-back',
    request: { input: [user, thought, call, output, user] },
    body: { messages: [{}, { reasoning_content: 'Hm.' }, {}, {}] },
  },
  { rules: 'alibaba-qwq/streams', request: {}, streams: true },
  { rules: 'alibaba/thinking', request: { reasoning: { effort: 'low' } }, body: { enable_thinking: true } },
  { rules: 'alibaba/thinking', request: { reasoning: { enabled: false } }, body: { enable_thinking: false } },
  {
    rules: 'alibaba/forced',
    request: { ...forced, reasoning: { effort: 'low' } },
    body: { tool_choice: 'required', enable_thinking: false },
  },
  {
    rules: 'kimi/schemas',
    request: {
      tools: [
        tool({ parameters: { type: 'object', properties: { a: { type: 'string', anyOf: [{ minLength: 1 }] } } } }),
      ],
    },
    body: {
      tools: [{ function: { parameters: { properties: { a: { anyOf: [{ type: 'string', minLength: 1 }] } } } } }],
    },
  },
  {
    rules: 'kimi/schema-root',
    request: { tools: [tool({ parameters: { properties: {} } })] },
    body: { tools: [{ function: { parameters: { type: 'object' } } }] },
  },
  {
    rules: 'kimi/names',
    request: { tools: [tool({ name: '1st' })] },
    body: { tools: [{ function: { name: expect.stringMatching(/^[a-z]\w+$/) } }] },
  },
  {
    rules: 'kimi-thinking/reasoning-back',
    request: { input: [user, call, output, user] },
    body: { messages: [{}, { reasoning_content: '', tool_calls: [{}] }, {}, {}] },
  },
  {
    rules: 'kimi-k2-5/forced',
    request: forced,
    body: { tool_choice: 'required', thinking: { type: 'disabled' } },
  },
  { rules: 'kimi-k3/forced', request: forced, without: ['tool_choice'], dropped: ['tool_choice (required)'] },
  { rules: 'kimi-k2-5/temperature', request: { temperature: 0.7, top_p: 0.5 }, without: ['temperature', 'top_p'] },
  { rules: 'kimi-k2/temperature', request: { temperature: 0.7 }, without: ['temperature'], dropped: ['temperature'] },
  { rules: 'zai/tool-choice', request: forced, without: ['tool_choice'], dropped: ['tool_choice (required)'] },
  {
    rules: 'zai/reasoning-back',
    request: { input: [user, thought, call, output, user] },
    body: { messages: [{}, { reasoning_content: 'Hm.', tool_calls: [{}] }, {}, {}] },
  },
  {
    rules: 'zai/blank-text',
    request: {
      input: [
        { type: 'message', role: 'user', content: 'a' },
        { type: 'message', role: 'assistant', content: '' },
        { type: 'message', role: 'user', content: 'b' },
      ],
    },
    body: {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'user', content: 'b' },
      ],
    },
  },
  { rules: 'zai/stops', request: { stop: ['a', 'b'] }, body: { stop: ['a'] } },
  { rules: 'zai/sampling', request: { temperature: 1.3, top_p: 0 }, body: { temperature: 1, top_p: 0.01 } },
  { rules: 'minimax/temperature', request: { temperature: 0 }, body: { temperature: 0.01 } },
  { rules: 'minimax/reasoning', request: {}, body: { reasoning_split: true } },
  {
    rules: 'minimax/reasoning-back',
    request: {
      input: [
        user,
        {
          type: 'reasoning',
          content: [{ type: 'reasoning_text', text: 'Hm.' }],
          signature: 'x',
          format: 'anthropic-claude-v1',
        },
        { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: 'x' },
      ],
    },
    body: {
      messages: [{}, { reasoning_details: [{ type: 'reasoning.text', text: 'Hm.', index: 0 }], tool_calls: [{}] }, {}],
    },
    dropped: ['input[1].signature'],
  },
  {
    rules: 'groq/fields',
    request: { logprobs: true, top_logprobs: 1, logit_bias: { 5: 1 } },
    without: ['logprobs', 'top_logprobs', 'logit_bias'],
  },
  {
    rules: 'groq/message-names',
    request: { input: [{ ...user, name: 'Ada' } as never] },
    body: { messages: [{ content: 'Ada: Hi' }] },
  },
  { rules: 'groq/format', request: { ...format, tools }, without: ['response_format'], body: mentionsJson },
  { rules: 'groq/format', request: format, stream: true, without: ['response_format'], body: mentionsJson },
  { rules: 'groq/effort', request: { reasoning: { effort: 'low' } }, without: ['reasoning_effort'] },
  { rules: 'groq-gpt-oss/effort', request: { reasoning: { effort: 'xhigh' } }, effort: 'high' },
  { rules: 'groq-qwen/effort', request: { reasoning: { effort: 'high' } }, effort: 'default' },
  { rules: 'groq-qwen/effort', request: { reasoning: { effort: 'none' } }, effort: 'none' },
  {
    rules: 'cerebras/strict',
    request: { tools: [tool({ strict: true }), tool({ name: 'g' })] },
    body: { tools: [{ function: expect.not.objectContaining({ strict: true }) }, {}] },
  },
  { rules: 'fireworks/output', request: { max_output_tokens: 32_000 }, limit: 32_000, streams: true },
  { rules: 'fireworks/output', request: { max_output_tokens: 16_000 }, limit: 16_000, streams: false },
  {
    rules: 'cohere/strict',
    request: { tools: [tool({ strict: true })] },
    body: { tools: [{ function: expect.not.objectContaining({ strict: true }) }] },
  },
  { rules: 'cohere/tool-choice', request: { tools, tool_choice: 'auto' }, without: ['tool_choice'] },
  {
    rules: 'cohere/tool-choice',
    request: { tools: [tool(), tool({ name: 'g' })], tool_choice: { type: 'function', name: 'g' } },
    body: { tool_choice: 'required', tools: [{ function: { name: 'g' } }] },
  },
  { rules: 'perplexity/alternate', request: { input: [user, user] }, body: { messages: [{ content: 'Hi\n\nHi' }] } },
  { rules: 'perplexity/user-last', request: { input: [user, said] }, body: { messages: [{}, {}, { role: 'user' }] } },
  {
    rules: 'sambanova/fields',
    request: { tools, parallel_tool_calls: true, frequency_penalty: 1, presence_penalty: 1, logprobs: true },
    without: ['parallel_tool_calls', 'frequency_penalty', 'presence_penalty', 'logprobs'],
  },
  { rules: 'novita/thinking', request: { reasoning: { effort: 'none' } }, body: { enable_thinking: false } },
  { rules: 'grok-4/effort', request: { reasoning: { effort: 'low' } }, without: ['reasoning_effort'] },
  { rules: 'grok/stop', request: { stop: ['END'] }, without: ['stop'] },
  { rules: 'grok/penalties', request: { frequency_penalty: 1 }, without: ['frequency_penalty'] },
  {
    rules: 'template/system-first',
    request: { instructions: 'A', input: [user, said, system, user] },
    body: { messages: [{ role: 'system', content: 'A' }, {}, {}, { role: 'user', content: 'System: Be brief.' }, {}] },
  },
  {
    rules: 'template/files',
    request: {
      input: [
        {
          type: 'message',
          role: 'user',
          content: [{ type: 'input_file', filename: 'a.txt', file_data: 'data:text/plain;base64,SGk=' }],
        },
      ],
    },
    body: { messages: [{ content: 'File a.txt:\nHi' }] },
  },
  {
    rules: 'template/images',
    request: {
      input: [
        user,
        call,
        {
          ...output,
          output: [
            { type: 'input_text', text: 'Seen.' },
            { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' },
          ],
        },
      ],
    },
    body: {
      messages: [{}, {}, { role: 'tool', content: 'Seen.' }, { role: 'user', content: [{ type: 'image_url' }] }],
    },
  },
  { rules: 'ollama/effort', request: { reasoning: { effort: 'minimal' } }, effort: 'none' },
  { rules: 'sglang/effort', request: { reasoning: { effort: 'xhigh' } }, effort: 'high' },
  { rules: 'lm-studio/effort', request: { reasoning: { effort: 'max' } }, effort: 'high' },
  {
    rules: 'lm-studio/tool-choice',
    request: { tools, tool_choice: { type: 'function', name: 'f' } },
    body: { tool_choice: 'required' },
  },
  { rules: 'lm-studio/format', request: json, body: { response_format: { type: 'json_schema' } } },
  {
    rules: 'llama-cpp/patterns',
    request: { tools: [tool({ parameters: { type: 'object', properties: { a: { type: 'string', pattern: 'b' } } } })] },
    body: { tools: [{ function: { parameters: { properties: { a: { pattern: '^.*b.*$' } } } } }] },
  },
  { rules: 'grok-4-responses/effort', request: { reasoning: { effort: 'low' } }, without: ['reasoning'] },
  {
    rules: 'deepseek/parts',
    request: {
      input: [
        {
          type: 'message',
          role: 'user',
          content: [{ type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' }],
        },
      ],
    },
    error: /takes no images/,
  },
  { rules: 'alibaba/json-word', request: json, body: mentionsJson },
  { rules: 'alibaba-open/streams', request: {}, streams: true },
  {
    rules: 'alibaba-open/streams',
    request: { reasoning: { effort: 'low' } },
    stream: true,
    body: { enable_thinking: true },
  },
  {
    rules: 'kimi/references',
    request: {
      tools: [
        tool({
          parameters: {
            type: 'object',
            properties: { a: { $ref: '#/definitions/b' } },
            definitions: { b: { type: 'string' } },
          },
        }),
      ],
    },
    body: {
      tools: [
        { function: { parameters: { properties: { a: { $ref: '#/$defs/b' } }, $defs: { b: { type: 'string' } } } } },
      ],
    },
  },
  {
    rules: ['kimi/references', 'kimi/enums', 'kimi/booleans'],
    request: {
      tools: [
        tool({
          parameters: {
            type: 'object',
            properties: { a: { $ref: '#/$defs/b', minLength: 1 }, c: { enum: ['x'] }, d: true },
            $defs: { b: { type: 'string' } },
          },
        }),
      ],
    },
    body: {
      tools: [
        {
          function: {
            parameters: {
              properties: { a: { type: 'string', minLength: 1 }, c: { type: 'string', enum: ['x'] }, d: {} },
            },
          },
        },
      ],
    },
  },
  { rules: 'kimi/empty', request: { input: [user, { ...said, content: '' }, user] }, body: { messages: [{}, {}] } },
  {
    rules: 'alibaba/user',
    request: { input: [said] },
    body: { messages: [{ role: 'user' }, { role: 'assistant' }] },
  },
  {
    rules: 'zai/user',
    request: { input: [said] },
    body: { messages: [{ role: 'user' }, { role: 'assistant' }] },
  },
  {
    rules: 'minimax/system-first',
    request: { instructions: 'A', input: [system, user] },
    body: { messages: [{ role: 'system', content: 'A\n\nBe brief.' }, { role: 'user' }] },
  },
  {
    rules: 'minimax/parameters',
    request: { tools: [{ type: 'function', name: 'f' } as never] },
    body: { tools: [{ function: { parameters: { type: 'object', properties: {} } } }] },
  },
  { rules: 'groq/json-word', request: json, body: mentionsJson },
  { rules: 'groq/stops', request: { stop: ['a', 'b', 'c', 'd', 'e'] }, body: { stop: ['a', 'b', 'c', 'd'] } },
  {
    rules: 'perplexity/system-first',
    request: { input: [user, system] },
    body: { messages: [{ content: 'Hi\n\nSystem: Be brief.' }] },
  },
  { rules: 'tgi/temperature', request: { temperature: 0 }, body: { temperature: 0.01 } },
  {
    rules: 'databricks/fields',
    request: { reasoning: { effort: 'low' }, text: { verbosity: 'low' }, service_tier: 'flex' },
    without: ['reasoning_effort', 'verbosity', 'service_tier'],
  },
  {
    rules: 'kimi-messages/names',
    request: { tools: [tool({ name: '1st' })] },
    body: { tools: [{ name: expect.stringMatching(/^[a-z]\w+$/) }] },
  },
  {
    rules: 'kimi-messages/thinking',
    request: { input: [user, thought, said, user, thought, call, output] },
    body: {
      messages: [
        { content: [{ type: 'text' }] },
        { content: [{ type: 'text' }] },
        { content: [{ type: 'text' }] },
        { content: [{ type: 'thinking', thinking: 'Hm.' }, { type: 'tool_use' }] },
        { content: [{ type: 'tool_result' }] },
      ],
    },
  },
  {
    rules: 'kimi-messages/scope',
    request: {
      input: [{ ...user, content: [{ type: 'input_text', text: 'Hi', cache_control: scoped }] }],
    },
    body: { messages: [{ content: [{ cache_control: { type: 'ephemeral' } }] }] },
    dropped: ['cache_control.scope'],
  },
  {
    rules: 'minimax-messages/thinking',
    request: { input: [user, thought, said, user] },
    body: { messages: [{}, { content: [{ type: 'thinking', thinking: 'Hm.' }, { type: 'text' }] }, {}] },
  },
  {
    rules: 'zai-messages/thinking',
    request: { input: [user, thought, said, user] },
    body: { messages: [{}, { content: [{ type: 'thinking', thinking: 'Hm.' }, { type: 'text' }] }, {}] },
  },
  {
    rules: 'unsigned-messages/thinking',
    request: { input: [user, thought, said, user] },
    body: { messages: [{}, { content: [{ type: 'thinking', thinking: 'Hm.' }, { type: 'text' }] }, {}] },
  },
  {
    rules: 'minimax-messages/ignored',
    request: { stop: ['END'], top_k: 3, service_tier: 'flex' },
    without: ['stop_sequences', 'top_k', 'service_tier'],
    dropped: ['top_k', 'service_tier'],
  },
  {
    rules: 'minimax-messages/adaptive',
    request: { reasoning: { effort: 'high' } },
    body: { thinking: { type: 'adaptive' } },
    without: ['output_config'],
    dropped: ['reasoning.effort (high → on)'],
  },
  {
    rules: 'minimax-m2-messages/always',
    request: { reasoning: { effort: 'none' } },
    without: ['thinking', 'output_config'],
    dropped: ['reasoning (the model always reasons)'],
  },
  {
    rules: 'deepseek-messages/effort',
    request: { reasoning: { effort: 'max' } },
    body: { thinking: { type: 'enabled' }, output_config: { effort: 'max' } },
  },
  {
    rules: 'deepseek-messages/effort',
    request: { reasoning: { effort: 'none' } },
    body: { thinking: { type: 'disabled' } },
    without: ['output_config'],
  },
  {
    rules: 'deepseek-messages/effort',
    request: { reasoning: { max_tokens: 4000 }, max_output_tokens: 8000 },
    body: { thinking: { type: 'enabled' }, output_config: { effort: 'medium' } },
    dropped: ['reasoning.max_tokens (→ effort medium)'],
  },
  {
    rules: 'zai-messages/switch',
    request: { reasoning: { effort: 'low' } },
    body: { thinking: { type: 'enabled' } },
    without: ['output_config'],
    dropped: ['reasoning.effort (low → on)'],
  },
  {
    rules: 'glm-5-2-messages/efforts',
    request: { reasoning: { effort: 'xhigh' } },
    body: { thinking: { type: 'enabled' }, output_config: { effort: 'high' } },
    dropped: ['reasoning.effort (xhigh → high)'],
  },
  {
    rules: 'glm-5-3-messages/efforts',
    request: { reasoning: { effort: 'none' } },
    body: { output_config: { effort: 'low' } },
    dropped: ['reasoning (the model always reasons)'],
  },
  {
    rules: 'glm/thinking',
    request: { reasoning: { effort: 'low' } },
    body: { thinking: { type: 'enabled' } },
    without: ['reasoning_effort'],
    dropped: ['reasoning.effort (low → on)'],
  },
  {
    rules: 'groq-qwen/effort',
    request: { reasoning: { effort: 'high' } },
    body: { reasoning_effort: 'default' },
    dropped: ['reasoning.effort (high → on)'],
  },
  {
    rules: 'cohere/effort',
    request: { reasoning: { effort: 'low' } },
    body: { reasoning_effort: 'high' },
    dropped: ['reasoning.effort (low → high)'],
  },
  { rules: 'minimax-messages/temperature', request: { temperature: 0 }, body: { temperature: 0.01 } },
  {
    rules: 'deepseek-messages/thinking',
    request: { input: [user, call, output, user] },
    body: { thinking: { type: 'disabled' } },
    dropped: ['reasoning'],
  },
  { rules: 'deepseek-messages/thinking', request: forced, body: { thinking: { type: 'disabled' } } },
  { rules: 'deepseek-messages/end', request: {}, without: ['thinking'] },
  {
    rules: 'template/user',
    request: { input: [said] },
    body: { messages: [{ role: 'user' }, { role: 'assistant' }] },
  },
  { rules: 'template/alternate', request: { input: [user, user] }, body: { messages: [{ content: 'Hi\n\nHi' }] } },
  {
    rules: 'vllm-responses/messages',
    request: {
      input: [
        { type: 'message', role: 'user', content: 'a' },
        { type: 'message', role: 'assistant', content: 'b' },
      ],
    },
    body: {
      input: [
        { content: 'a' },
        {
          id: 'msg_1',
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'b', annotations: [] }],
        },
      ],
    },
  },
  {
    rules: ['vllm-responses/empty', 'vllm-responses/arguments'],
    request: {
      input: [
        { type: 'message', role: 'user', content: 'a' },
        { type: 'message', role: 'assistant', content: [] },
        { type: 'function_call', call_id: 'c', name: 'f', arguments: '{"a":1}{' },
        { type: 'function_call_output', call_id: 'c', output: 'b' },
      ],
    },
    body: { input: [{ content: 'a' }, { arguments: JSON.stringify({ arguments: '{"a":1}{' }) }, { output: 'b' }] },
  },
  {
    rules: 'template-llama/calls',
    request: { input: [user, call, { ...call, call_id: 'b12345678' }, output, { ...output, call_id: 'b12345678' }] },
    body: { messages: [{}, { role: 'assistant' }, {}, { role: 'assistant' }, {}] },
  },
  {
    rules: 'template/empty',
    request: { input: [user, { ...said, content: ' ' }] },
    body: { messages: [{ role: 'user' }] },
  },
  ...['local-messages/system', 'deepseek-messages/system'].map((rules) => ({
    rules,
    request: { input: [user, system, user] },
    body: { messages: [{ role: 'user', content: [{}, { text: 'System:' }, { text: 'Be brief.' }, {}] }] },
    without: ['system'],
  })),
  ...['local-messages/billing', 'openrouter-messages/billing'].map((rules) => ({
    rules,
    request: {
      input: [
        { ...system, content: [{ type: 'input_text' as const, text: 'x-anthropic-billing-header: cc_version=2;' }] },
        system,
        user,
      ],
    },
    body: { system: [{ text: 'Be brief.' }] },
    dropped: ['instructions (x-anthropic-billing-header)'],
  })),
  { rules: 'vllm/top-p', request: { top_p: 0 }, body: { top_p: 0.01 } },
  { rules: ['template/think-tags'], request: {}, reader: { thinkTags: true } },
  { rules: ['reasoning-models/think-tags'], request: {}, reader: { thinkTags: true } },
  { rules: 'kimi-k2/marked-calls', request: { tools }, reader: { markedCalls: new Set(['f']) } },
];
