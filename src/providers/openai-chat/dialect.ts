import { type Static, Type } from 'typebox';
import { efforts } from '../kit/effort.ts';
import { dialectReader } from '../kit/read-dialect.ts';

/** Body fields that a server may refuse and that an answer can do without. */
const optionalFields = [
  'frequency_penalty',
  'parallel_tool_calls',
  'presence_penalty',
  'prompt_cache_key',
  'service_tier',
  'temperature',
  'top_p',
  'user',
  'verbosity',
] as const;

/** How a server differs from the original. The defaults are what OpenAI itself takes. */
export const dialectSchema = Type.Object(
  {
    max_tokens_field: Type.Enum(['max_completion_tokens', 'max_tokens'], {
      default: 'max_completion_tokens',
      description: 'The field that carries `max_output_tokens`. Most servers other than OpenAI want `max_tokens`.',
    }),
    reasoning: Type.Enum(['reasoning_effort', 'reasoning', 'none'], {
      default: 'reasoning_effort',
      description: 'The field that carries `reasoning`: an effort, an object with effort or budget, or nothing.',
    }),
    efforts: Type.Array(Type.Enum([...efforts]), {
      default: [...efforts],
      minItems: 1,
      description: 'The efforts that the server knows; another one becomes the nearest of these.',
    }),
    developer_role: Type.Boolean({ default: false, description: 'Send role `developer` as it is, not as `system`.' }),
    stream_usage: Type.Boolean({ default: true, description: 'Ask for usage at the end of a stream.' }),
    replay_reasoning: Type.Boolean({
      default: false,
      description: 'Send earlier reasoning text back as `reasoning_content` of the assistant message.',
    }),
    reasoning_details: Type.Boolean({
      default: false,
      description: 'Send earlier reasoning back as `reasoning_details`, signatures and encrypted content included.',
    }),
    cache_control: Type.Boolean({ default: false, description: 'Pass on cache breakpoints of text parts.' }),
    metadata: Type.Boolean({ default: false, description: 'Pass on `metadata`.' }),
    top_k: Type.Boolean({ default: false, description: 'Pass on `top_k`, which OpenAI does not know.' }),
    omit: Type.Array(Type.Enum([...optionalFields]), {
      default: [],
      description: 'Body fields that the server refuses; they are left out and named in the metadata.',
    }),
  },
  { additionalProperties: false },
);

export type Dialect = Static<typeof dialectSchema>;

/** @throws {Error} naming the setting, in words for the operator; it never comes from what a caller sent */
export const readDialect = dialectReader('openai-chat', dialectSchema);
