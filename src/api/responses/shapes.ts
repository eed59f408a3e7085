import { Type } from 'typebox';
import { nullable, oneOf } from '../../schema/shapes.ts';
import { routerMetadata } from '../../openapi/error-shapes.ts';
import { named } from '../../openapi/schema-writer.ts';
import {
  anything,
  count,
  flag,
  number,
  numberOrNull,
  openObject,
  seconds,
  text,
  textOrNull,
} from '../../openapi/shapes.ts';

export const wireUsage = named(
  'Usage',
  Type.Object({
    input_tokens: count,
    input_tokens_details: Type.Object({
      cached_tokens: count,
      cache_write_tokens: count,
      cache_creation: Type.Optional(openObject),
    }),
    output_tokens: count,
    output_tokens_details: Type.Object({ reasoning_tokens: count }),
    total_tokens: count,
    cost: Type.Union([number, Type.Null()], { description: 'USD. Null: no price is known.' }),
    is_byok: flag,
    cost_details: Type.Optional(openObject),
    server_tool_use_details: Type.Optional(openObject),
    server_tool_use: Type.Optional(openObject),
  }),
);

/** An output item. Clients must accept unknown types. @see docs/reference/items.md */
const outputItem = named(
  'OutputItem',
  Type.Object(
    {
      id: Type.Optional(text),
      type: text,
      model: Type.Optional(Type.String({ description: 'Of a message: the model that wrote it.' })),
    },
    { additionalProperties: true },
  ),
);

/** @see docs/reference/responses.md#result */
export const responseObject = named(
  'Response',
  Type.Object({
    id: text,
    object: Type.Literal('response'),
    created_at: seconds,
    completed_at: nullable(seconds),
    status: oneOf('completed', 'incomplete', 'in_progress', 'failed'),
    error: nullable(
      named('ResponseFailure', Type.Object({ code: text, message: text }, { additionalProperties: true })),
    ),
    error_type: Type.Optional(text),
    incomplete_details: nullable(Type.Object({ reason: oneOf('max_output_tokens', 'content_filter') })),
    model: text,
    output: Type.Array(outputItem),
    usage: nullable(wireUsage),
    instructions: textOrNull,
    metadata: nullable(openObject),
    parallel_tool_calls: flag,
    temperature: number,
    top_p: number,
    presence_penalty: number,
    frequency_penalty: number,
    tool_choice: anything,
    tools: Type.Array(openObject),
    background: flag,
    max_output_tokens: numberOrNull,
    max_tool_calls: numberOrNull,
    previous_response_id: Type.Null(),
    prompt: anything,
    prompt_cache_key: textOrNull,
    prompt_cache_options: Type.Optional(openObject),
    reasoning: nullable(openObject),
    safety_identifier: textOrNull,
    service_tier: textOrNull,
    store: Type.Literal(false),
    text: openObject,
    top_logprobs: count,
    truncation: oneOf('auto', 'disabled'),
    user: textOrNull,
    access_programs: nullable(openObject),
    router_metadata: Type.Optional(routerMetadata),
  }),
);

/** @see docs/reference/compaction.md */
export const compactedWindow = named(
  'CompactedWindow',
  Type.Object({
    id: text,
    object: Type.Literal('response.compaction'),
    created_at: seconds,
    model: text,
    output: Type.Array(Type.Object({ type: text }, { additionalProperties: true })),
    usage: openObject,
    router_metadata: Type.Optional(routerMetadata),
  }),
);

/** @see docs/reference/responses.md#post-responsesinput_tokens */
export const inputTokens = named(
  'InputTokens',
  Type.Object({ object: Type.Literal('response.input_tokens'), input_tokens: count }),
);
