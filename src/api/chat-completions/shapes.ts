import { Type } from 'typebox';
import { nullable, oneOf } from '../../schema/shapes.ts';
import { named } from '../../openapi/schema-writer.ts';
import { routerMetadata } from '../../openapi/error-shapes.ts';
import { count, flag, number, openObject, seconds, text, textOrNull } from '../../openapi/shapes.ts';

const chatUsage = named(
  'CompletionUsage',
  Type.Object({
    prompt_tokens: count,
    completion_tokens: count,
    total_tokens: count,
    prompt_tokens_details: Type.Object({
      cached_tokens: count,
      cache_write_tokens: count,
      cache_creation: Type.Optional(openObject),
    }),
    completion_tokens_details: Type.Object({ reasoning_tokens: count }),
    cost: Type.Union([number, Type.Null()], { description: 'USD. Null: no price is known.' }),
    is_byok: flag,
    cost_details: Type.Optional(openObject),
    server_tool_use_details: Type.Optional(openObject),
    server_tool_use: Type.Optional(openObject),
  }),
);

const message = Type.Object({
  role: Type.Literal('assistant'),
  content: textOrNull,
  refusal: textOrNull,
  reasoning: Type.Optional(text),
  reasoning_details: Type.Optional(Type.Array(openObject)),
  tool_calls: Type.Optional(Type.Array(Type.Object({ id: text, type: text }, { additionalProperties: true }))),
  function_call: Type.Optional(Type.Object({ name: text, arguments: text })),
  annotations: Type.Optional(Type.Array(openObject)),
  file_annotations: Type.Optional(Type.Array(openObject)),
  images: Type.Optional(Type.Array(openObject)),
});

/** @see docs/reference/chat-completions.md#response */
export const completionObject = named(
  'ChatCompletion',
  Type.Object({
    id: text,
    object: Type.Literal('chat.completion'),
    created: seconds,
    model: text,
    provider: Type.Optional(text),
    system_fingerprint: Type.Null(),
    choices: Type.Array(
      Type.Object({
        index: Type.Integer(),
        message,
        logprobs: nullable(openObject),
        finish_reason: oneOf('stop', 'tool_calls', 'function_call', 'length', 'content_filter', 'error'),
        native_finish_reason: textOrNull,
      }),
    ),
    usage: Type.Optional(chatUsage),
    service_tier: Type.Optional(text),
    router_metadata: Type.Optional(routerMetadata),
  }),
);

/** @see docs/reference/completions.md */
export const textCompletionObject = named(
  'TextCompletion',
  Type.Object({
    id: text,
    object: Type.Literal('text_completion'),
    created: seconds,
    model: text,
    provider: Type.Optional(text),
    choices: Type.Array(
      Type.Object({
        index: Type.Integer(),
        text,
        reasoning: Type.Optional(text),
        logprobs: nullable(openObject),
        finish_reason: oneOf('stop', 'length', 'content_filter', 'error'),
        native_finish_reason: textOrNull,
      }),
    ),
    usage: Type.Optional(chatUsage),
    service_tier: Type.Optional(text),
    router_metadata: Type.Optional(routerMetadata),
  }),
);
