import { type Static, Type } from 'typebox';
import type { ReasoningFormat } from '../../domain/items.ts';
import { efforts } from '../kit/effort.ts';
import { dialectReader } from '../kit/read-dialect.ts';

const formats = [
  'openai-responses-v1',
  'azure-openai-responses-v1',
  'bedrock-openai-responses-v1',
  'bedrock-xai-responses-v1',
  'xai-responses-v1',
  'meta-responses-v1',
] as const satisfies ReasoningFormat[];

/** Fields that a server may refuse and that an answer can do without. */
const optionalFields = [
  'frequency_penalty',
  'include',
  'max_tool_calls',
  'metadata',
  'parallel_tool_calls',
  'presence_penalty',
  'prompt',
  'prompt_cache_key',
  'prompt_cache_options',
  'safety_identifier',
  'service_tier',
  'temperature',
  'top_logprobs',
  'top_p',
  'truncation',
] as const;

/** How a server differs from the original. The defaults are what OpenAI itself takes. */
export const dialectSchema = Type.Object(
  {
    reasoning_format: Type.Enum([...formats], {
      default: 'openai-responses-v1',
      description: 'Who makes encrypted reasoning, and alone can read it.',
    }),
    plain_reasoning: Type.Boolean({
      default: false,
      description: 'Send earlier reasoning back that has text but no encrypted content.',
    }),
    native_items: Type.Boolean({
      default: true,
      description: 'Send `additional_tools`, `agent_message`, `compaction` and `context_compaction` items as they are.',
    }),
    native_configuration_update: Type.Boolean({
      default: false,
      description: 'Send `configuration_update` items as they are; else the last one is the effort of the request.',
    }),
    cache_control: Type.Boolean({
      default: true,
      description: 'Pass on cache breakpoints of parts, as `prompt_cache_breakpoint`.',
    }),
    efforts: Type.Array(Type.Enum([...efforts]), {
      default: [...efforts],
      minItems: 1,
      description: 'The efforts that the server knows; another one becomes the nearest of these.',
    }),
    omit: Type.Array(Type.Enum([...optionalFields]), {
      // OpenAI answers 400 to both: its create parameters have no such fields.
      default: ['frequency_penalty', 'presence_penalty'],
      description: 'Fields that the server refuses; they are left out and named in the metadata.',
    }),
  },
  { additionalProperties: false },
);

export type Dialect = Static<typeof dialectSchema>;

/** @throws {Error} naming the setting, in words for the operator; it never comes from what a caller sent */
export const readDialect = dialectReader('openai-responses', dialectSchema);
