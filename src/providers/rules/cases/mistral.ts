import { expect } from 'vitest';
import type { RuleCase } from './case.ts';
import { sampleItems } from './sample-items.ts';

const call = { type: 'function_call', call_id: 'functions.f:0', name: 'f', arguments: '{}' } as const;
const output = { type: 'function_call_output', call_id: 'functions.f:0', output: 'x' } as const;
const { user, said } = sampleItems;
const system = { type: 'message', role: 'system', content: 'Be brief.' } as const;
const id = expect.stringMatching(/^[A-Za-z0-9]{9}$/);

export const mistralCases: RuleCase[] = [
  { rules: 'mistral-small/effort', request: { reasoning: { effort: 'low' } }, body: { reasoning_effort: 'high' } },
  { rules: 'mistral-small/effort', request: { reasoning: { enabled: false } }, body: { reasoning_effort: 'none' } },
  {
    rules: 'mistral/call-ids',
    request: { input: [user, call, output] },
    body: { messages: [{}, { tool_calls: [{ id }] }, { tool_call_id: id }] },
  },
  {
    rules: 'mistral/user-after-tool',
    request: { input: [user, call, output, user] },
    body: { messages: [{}, {}, { role: 'tool' }, { role: 'assistant', content: 'OK.' }, { role: 'user' }] },
  },
  { rules: 'mistral/prefix', request: { input: [user, said] }, body: { messages: [{}, { prefix: true }] } },
  {
    rules: 'mistral/assistant-some',
    request: { input: [user, said, call, output] },
    body: { messages: [{}, { content: 'It is' }, { tool_calls: [{}] }, {}] },
  },
  { rules: 'mistral/system-last', request: { input: [user, system] }, body: { messages: [{}, { role: 'user' }] } },
  { rules: 'mistral/seed', request: { seed: 7 }, body: { random_seed: 7 }, without: ['seed'] },
  {
    rules: 'mistral/forbidden-fields',
    request: { logprobs: true, top_logprobs: 2, logit_bias: { 5: 1 } },
    without: ['logprobs', 'top_logprobs', 'logit_bias'],
    dropped: ['logprobs', 'logit_bias'],
  },
  { rules: 'mistral/temperature', request: { temperature: 2 }, body: { temperature: 1.5 } },
];
