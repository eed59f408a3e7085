import { json, type ScriptedResponse } from '../../src/testing/scripted-responses.ts';
import type { ScriptedUpstream } from '../../src/testing/scripted-upstream.ts';

/** For tests that count money: a provider whose responses cost a cent, ten tokens of output at 0.001 USD. */
export const centProviders = (upstream: ScriptedUpstream): object[] => [
  {
    id: 'acme',
    wire: 'openai-chat',
    base_url: upstream.url,
    models: [{ model: 'acme/m', pricing: { prompt: 0, completion: 0.001 } }],
  },
];

/** A request that costs a cent and reserves no more. */
export const centRequest = { model: 'acme/m', input: 'Hello', max_output_tokens: 10 };

/** The provider's response. */
export const centResponse = (): ScriptedResponse =>
  json({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello there.' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 5, completion_tokens: 10, total_tokens: 15 },
  });
