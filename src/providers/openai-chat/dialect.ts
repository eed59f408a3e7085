import { type Static, Type } from 'typebox';
import { efforts } from '../../domain/items.ts';
import { dialectReader } from '../kit/read-dialect.ts';
import { facets } from '../rules/facets.ts';

/** Body fields that a server may reject and that are not essential. */
const optionalFields = [
  'frequency_penalty',
  'logit_bias',
  'parallel_tool_calls',
  'prediction',
  'presence_penalty',
  'prompt_cache_key',
  'prompt_cache_retention',
  'seed',
  'service_tier',
  'stop',
  'temperature',
  'top_p',
  'user',
  'verbosity',
] as const;

/** How a server differs from OpenAI, whose behavior is the default. */
export const dialectSchema = Type.Object(
  {
    max_tokens_field: Type.Enum(['max_completion_tokens', 'max_tokens'], {
      default: 'max_completion_tokens',
      description: 'Field for `max_output_tokens`. Most servers other than OpenAI need `max_tokens`.',
    }),
    reasoning: Type.Enum(['reasoning_effort', 'reasoning', 'none'], {
      default: 'reasoning_effort',
      description: 'Field for `reasoning`: an effort, an object with effort or budget, or none.',
    }),
    efforts: Type.Array(Type.Enum([...efforts]), {
      default: [...efforts],
      minItems: 1,
      description: 'Supported efforts. Others become the nearest of these.',
    }),
    developer_role: Type.Boolean({
      default: false,
      description: 'Send the role `developer` unchanged, not as `system`.',
    }),
    stream_usage: Type.Boolean({ default: true, description: 'Request usage at the end of a stream.' }),
    replay_reasoning: Type.Boolean({
      default: false,
      description: 'Send earlier reasoning text with the assistant message, in the field of `reasoning_rules.field`.',
    }),
    reasoning_details: Type.Boolean({
      default: false,
      description: 'Send earlier reasoning as `reasoning_details`, including signatures and encrypted content.',
    }),
    sealed_details: Type.Boolean({
      default: true,
      description: 'Send signatures and encrypted content with `reasoning_details`.',
    }),
    thinking_blocks: Type.Boolean({
      default: false,
      description: 'Send earlier thinking of Claude, with its signatures, as `thinking_blocks`. For LiteLLM.',
    }),
    cache_control: Type.Boolean({ default: false, description: 'Send cache breakpoints of text parts and functions.' }),
    metadata: Type.Boolean({ default: false, description: 'Send `metadata`.' }),
    top_k: Type.Boolean({
      default: false,
      description: 'Send `top_k`, `min_p`, `top_a` and `repetition_penalty`, which OpenAI does not support.',
    }),
    omit: Type.Array(Type.Enum([...optionalFields]), {
      default: [],
      description: 'Body fields that the server rejects. They are dropped and reported.',
    }),
    account_identity: Type.Boolean({
      default: false,
      description: 'Send a hash of the workspace as `safety_identifier` if the request names no end user.',
    }),
    session_header: Type.Union([Type.String({ pattern: '^[a-z-]{1,100}$' }), Type.Null()], {
      default: null,
      description: 'Header for a hash of the session, by which the server finds its cache. Null: it has none.',
    }),
    ...facets,
  },
  { additionalProperties: false },
);

export type Dialect = Static<typeof dialectSchema>;

/** @throws {Error} that names the invalid setting, for the operator */
export const readDialect = dialectReader('openai-chat', dialectSchema);
