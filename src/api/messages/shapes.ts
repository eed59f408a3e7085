import { Type } from 'typebox';
import { named } from '../../openapi/schema-writer.ts';
import { routerMetadata } from '../../openapi/error-shapes.ts';
import { count, numberOrNull, openObject, text, textOrNull } from '../../openapi/shapes.ts';

/** @see docs/reference/messages.md#response */
export const messageObject = named(
  'Message',
  Type.Object(
    {
      id: text,
      type: Type.Literal('message'),
      role: Type.Literal('assistant'),
      model: text,
      content: Type.Array(Type.Object({ type: text }, { additionalProperties: true })),
      stop_reason: textOrNull,
      stop_sequence: textOrNull,
      usage: Type.Object(
        {
          input_tokens: count,
          cache_creation_input_tokens: count,
          cache_read_input_tokens: count,
          output_tokens: count,
          cost: Type.Optional(numberOrNull),
        },
        { additionalProperties: true },
      ),
    },
    { additionalProperties: true },
  ),
);

/** @see docs/reference/messages.md#post-messagescount_tokens */
export const tokenCount = named('TokenCount', Type.Object({ input_tokens: count }));

/** @see docs/reference/messages.md#errors */
export const messageError = named(
  'MessageError',
  Type.Object({
    type: Type.Literal('error'),
    error: Type.Object({
      type: text,
      message: text,
      error_type: text,
      code: Type.Integer(),
      metadata: openObject,
      availability: Type.Optional(openObject),
    }),
    request_id: text,
    router_metadata: Type.Optional(routerMetadata),
  }),
);
