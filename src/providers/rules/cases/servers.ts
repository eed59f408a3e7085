import { expect } from 'vitest';
import { ruleSets } from '../rule-sets.ts';
import type { RuleCase } from './case.ts';
import { sampleItems } from './sample-items.ts';

/** A request with every setting that a server of chat completions may lack. */
const everything: RuleCase['request'] = {
  max_output_tokens: 100,
  prompt_cache_key: 'k',
  service_tier: 'flex',
  seed: 1,
  stop: ['END'],
  frequency_penalty: 1,
  presence_penalty: 1,
  parallel_tool_calls: true,
  text: { verbosity: 'low' },
  tools: [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }],
};
const { user, call, output, thought } = sampleItems;
const search = { type: 'web_search' } as const;

/** The case of each setting in which servers of one format differ. The value is that of the rule. */
const caseOf: Record<string, (value: never) => Omit<RuleCase, 'rules'>> = {
  max_tokens_field: (value: string) => ({ request: { max_output_tokens: 100 }, body: { [value]: 100 } }),
  omit: (value: string[]) => ({ request: everything, without: value }),
  reasoning: (value: string) =>
    value === 'none'
      ? { request: { reasoning: { effort: 'low' } }, without: ['reasoning', 'reasoning_effort'] }
      : { request: { reasoning: { effort: 'low' } }, body: { [value]: expect.anything() } },
  stream_usage: () => ({ request: {}, stream: true, without: ['stream_options'] }),
  top_k: () => ({ request: { top_k: 4 }, body: { top_k: 4 } }),
  replay_reasoning: () => ({
    request: { input: [user, thought, call, output] },
    body: { messages: [{}, { reasoning_content: 'Hm.' }, {}] },
  }),
  reasoning_details: () => ({
    request: { input: [user, thought, call, output] },
    body: { messages: [{}, { reasoning_details: [{ text: 'Hm.' }] }, {}] },
  }),
  cache_control: () => ({
    request: {
      input: [
        {
          type: 'message',
          role: 'user',
          content: [{ type: 'input_text', text: 'a', cache_control: { type: 'ephemeral' } }],
        },
      ],
    },
    body: { messages: [{ content: [{ cache_control: {} }] }] },
  }),
  reasoning_format: () => ({ request: {}, body: { model: expect.anything() } }),
  native_images: () => ({ request: { tools: [search, { type: 'image_generation' }] }, body: { tools: [search] } }),
  native_items: () => ({ request: {}, body: { input: [{}] } }),
  native_patches: () => ({ request: { tools: [search, { type: 'apply_patch' }] }, body: { tools: [search] } }),
  native_shell: () => ({ request: { tools: [search, { type: 'local_shell' }] }, body: { tools: [search] } }),
};

const copilot: RuleCase = {
  rules: 'ovhcloud/copilot',
  request: { parallel_tool_calls: false, tools: [{ type: 'function', name: 'f' }] },
  body: { tools: [{ function: { parameters: { type: 'object' } } }] },
  without: ['stream_options', 'parallel_tool_calls'],
  stream: true,
};

const access: RuleCase = {
  rules: 'xai/web-access',
  request: {
    tools: [
      { type: 'web_search', external_web_access: true },
      { type: 'web_search', external_web_access: false },
    ] as never,
  },
  body: { tools: [search] },
  dropped: ['tools[0].external_web_access', 'tools[1]'],
};
const sessions: RuleCase[] = [
  { rules: 'xai/session-cache-key', request: {}, body: { prompt_cache_key: 'hg_session' } },
  { rules: 'xai-chat/session-header', request: {}, headers: { 'x-grok-conv-id': 'hg_session' } },
];

/** The rules of the form `<server>/<setting>`: one setting of the wire. */
export const serverCases: RuleCase[] = ruleSets
  .flatMap(({ match, rules }): RuleCase[] =>
    match.models || !match.providers
      ? []
      : rules.flatMap((rule) => {
          const [[name, value]] = Object.entries(rule.set) as [[string, never]];
          return name in caseOf && rule.seen === '2026-11-23' ? [{ rules: rule.id, ...caseOf[name]!(value) }] : [];
        }),
  )
  .concat(copilot, access, sessions);
