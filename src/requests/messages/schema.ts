import { type Static, Type } from 'typebox';
import { createLenientCheck } from '../../schema/create-lenient-check.ts';
import { anyObject, cacheControl, maybe, oneOf } from '../../schema/shapes.ts';
import { ownFields } from '../own-fields.ts';
import { requestSchema } from '../responses/schema.ts';
import { maxIdCharacters } from '../session-header.ts';
import { message, textBlock, thinking } from './schema/blocks.ts';
import { effort, mcpServer, messagesTool, messagesToolChoice } from './schema/tools.ts';

const outputFormat = Type.Object({ type: Type.Literal('json_schema'), schema: anyObject() });

/** Fields with the shape and the meaning of `POST /responses`. They are copied to the request of the pipeline. */
export const sharedFields = [...ownFields, 'image_config', 'modalities'] as const;

const shared = Type.Pick(requestSchema, sharedFields).properties;

/**
 * The body of `POST /messages`. Open: unknown top-level fields reach only an endpoint of the same format.
 *
 * @see docs/reference/messages.md#request-body
 */
export const messagesSchema = Type.Object({
  cache_control: maybe(cacheControl),
  container: Type.Optional(Type.Unknown()),
  context_management: maybe(anyObject()),
  fallbacks: maybe(
    Type.Union([
      Type.Array(Type.Object({ model: Type.String({ minLength: 1 }) }, { additionalProperties: false }), {
        minItems: 1,
        maxItems: 3,
      }),
      Type.Literal('default'),
    ]),
  ),
  max_tokens: maybe(Type.Integer({ minimum: 1 })),
  mcp_servers: maybe(Type.Array(mcpServer, { maxItems: 20 })),
  messages: Type.Array(message, { minItems: 1 }),
  metadata: maybe(Type.Object({ user_id: maybe(Type.String({ maxLength: maxIdCharacters })) })),
  model: maybe(Type.String({ minLength: 1 })),
  output_config: maybe(Type.Object({ effort: maybe(effort), format: maybe(outputFormat) })),
  output_format: maybe(outputFormat),
  service_tier: maybe(oneOf('auto', 'standard_only', 'default', 'flex', 'priority', 'scale')),
  speed: maybe(oneOf('standard', 'fast')),
  stop_sequences: maybe(Type.Array(Type.String({ minLength: 1 }), { maxItems: 8192 })),
  stream: maybe(Type.Boolean()),
  system: maybe(Type.Union([Type.String(), Type.Array(textBlock)])),
  temperature: maybe(Type.Number()),
  thinking: maybe(thinking),
  thread: Type.Optional(
    Type.Null({
      says: 'must be absent or null; Headgate stores no messages, so send the whole conversation in `messages`',
    }),
  ),
  tool_choice: maybe(messagesToolChoice),
  tools: maybe(Type.Array(messagesTool)),
  top_k: maybe(Type.Integer()),
  top_p: maybe(Type.Number()),
  ...shared,
});

/** A body that has passed its check. */
export type MessagesBody = Static<typeof messagesSchema>;

/** The documented top-level fields. */
export const messagesFields: ReadonlySet<string> = new Set(Object.keys(messagesSchema.properties));

/** Whether every field of the body has its shape. Removes nulls that stand for absent fields. */
export const isMessagesBody = createLenientCheck(messagesSchema);
