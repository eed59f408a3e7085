import { type Static, Type } from 'typebox';
import { createLenientCheck } from '../../schema/create-lenient-check.ts';
import { byKind } from '../../schema/by-kind.ts';
import { anyEffort, anyObject, cacheControl, mapOf, maybe, oneOf, openWord, trace } from '../../schema/shapes.ts';
import { searchContextSize } from '../../tools/web-search/shapes.ts';
import { reasoningSummaries, verbosities } from '../../domain/request.ts';
import { maxIdCharacters } from '../session-header.ts';
import { pluginSetting, textProviderPreferences } from '../responses/schema/plugins.ts';
import { requestSchema } from '../responses/schema.ts';
import { chatMessage } from './schema/messages.ts';
import { chatTool, chatToolChoice, legacyChoice, legacyFunction } from './schema/tools.ts';

const shared = requestSchema.properties;

const responseFormat = byKind('a response format', 'type', {
  text: Type.Object({ type: Type.Literal('text') }),
  json_object: Type.Object({ type: Type.Literal('json_object') }),
  json_schema: Type.Object({
    type: Type.Literal('json_schema'),
    json_schema: Type.Object({
      name: Type.String(),
      description: maybe(Type.String()),
      schema: maybe(anyObject()),
      strict: maybe(Type.Boolean()),
    }),
  }),
});

const reasoning = Type.Object({
  effort: maybe(anyEffort),
  max_tokens: maybe(Type.Integer()),
  enabled: maybe(Type.Boolean()),
  exclude: maybe(Type.Boolean()),
  summary: maybe(openWord(...reasoningSummaries)),
});

const place = {
  city: maybe(Type.String()),
  country: maybe(Type.String()),
  region: maybe(Type.String()),
  timezone: maybe(Type.String()),
};

const webSearchOptions = Type.Object({
  search_context_size: maybe(searchContextSize),
  user_location: maybe(Type.Object({ type: Type.Literal('approximate'), approximate: Type.Object(place) })),
});

const prediction = Type.Object({
  type: Type.Literal('content'),
  content: Type.Union([Type.String(), Type.Array(Type.Object({ type: Type.Literal('text'), text: Type.String() }))]),
});

/** Maximum number of stop texts, and of their characters. */
const stopText = () => Type.String({ minLength: 1, maxLength: 1024 });

/** Settings that `POST /chat/completions` and the older `POST /completions` share. */
export const chatSettings = {
  cache_control: maybe(cacheControl),
  debug: maybe(Type.Object({ echo_upstream_body: Type.Optional(Type.Boolean()) })),
  frequency_penalty: shared.frequency_penalty,
  image_config: maybe(mapOf(Type.Union([Type.String(), Type.Number(), Type.Array(Type.Unknown())]))),
  include_reasoning: maybe(Type.Boolean()),
  logit_bias: maybe(mapOf(Type.Number({ minimum: -100, maximum: 100 }), { maxProperties: 1024 })),
  max_tokens: maybe(Type.Integer({ minimum: 1 })),
  max_tool_calls: shared.max_tool_calls,
  metadata: shared.metadata,
  min_p: maybe(Type.Number({ minimum: 0, maximum: 1 })),
  model: shared.model,
  models: maybe(Type.Array(Type.String({ minLength: 1 }), { maxItems: 32 })),
  n: maybe(Type.Literal(1, { says: 'must be 1: send one request for each choice' })),
  plugins: maybe(Type.Array(pluginSetting, { maxItems: 100 })),
  presence_penalty: shared.presence_penalty,
  preset: shared.preset,
  prompt_cache_key: shared.prompt_cache_key,
  prompt_cache_options: shared.prompt_cache_options,
  prompt_cache_retention: maybe(Type.String({ maxLength: 64 })),
  provider: maybe(textProviderPreferences),
  reasoning: maybe(reasoning),
  reasoning_effort: maybe(anyEffort),
  repetition_penalty: maybe(Type.Number({ minimum: 0, maximum: 2 })),
  response_format: maybe(responseFormat),
  route: shared.route,
  safety_identifier: shared.safety_identifier,
  seed: maybe(Type.Integer()),
  service_tier: shared.service_tier,
  session_id: maybe(Type.String({ maxLength: maxIdCharacters })),
  stop: maybe(Type.Union([stopText(), Type.Array(stopText(), { maxItems: 16 })])),
  stop_server_tools_when: shared.stop_server_tools_when,
  stream: maybe(Type.Boolean()),
  stream_options: maybe(
    Type.Object({ include_usage: maybe(Type.Boolean()), include_obfuscation: maybe(Type.Boolean()) }),
  ),
  temperature: shared.temperature,
  top_a: maybe(Type.Number({ minimum: 0, maximum: 1 })),
  top_k: maybe(Type.Integer()),
  top_p: shared.top_p,
  trace: maybe(trace),
  transforms: maybe(Type.Array(oneOf('middle-out'))),
  usage: maybe(Type.Object({ include: maybe(Type.Boolean()) })),
  user: maybe(Type.String({ maxLength: maxIdCharacters })),
  verbosity: maybe(openWord(...verbosities)),
};

/**
 * The body of `POST /chat/completions`. Open: unknown top-level fields are dropped and named in the metadata.
 *
 * @see docs/reference/chat-completions.md#request-body
 */
export const chatSchema = Type.Object({
  ...chatSettings,
  audio: Type.Optional(Type.Null({ says: 'is not offered; this service generates no audio' })),
  function_call: maybe(legacyChoice),
  functions: maybe(Type.Array(legacyFunction)),
  logprobs: maybe(Type.Boolean()),
  max_completion_tokens: maybe(Type.Integer({ minimum: 1 })),
  messages: Type.Array(chatMessage, { minItems: 1 }),
  modalities: maybe(
    Type.Array(
      Type.Unsafe<'text' | 'image'>({
        enum: ['text', 'image'],
        says: 'must be `text` or `image`; this service generates no audio',
      }),
    ),
  ),
  parallel_tool_calls: shared.parallel_tool_calls,
  prediction: maybe(prediction),
  store: maybe(Type.Literal(false, { says: 'must be `false`: this service stores no completion' })),
  tool_choice: maybe(chatToolChoice),
  tools: maybe(Type.Array(chatTool)),
  top_logprobs: maybe(Type.Integer({ minimum: 0, maximum: 20 })),
  web_search_options: maybe(webSearchOptions),
});

/** A checked body of `POST /chat/completions`. */
export type ChatBody = Static<typeof chatSchema>;

/** The settings that the two bodies share. */
export type ChatSettings = Omit<
  ChatBody,
  | ('messages' | 'tools' | 'tool_choice' | 'functions' | 'function_call' | 'logprobs' | 'top_logprobs')
  | ('max_completion_tokens' | 'modalities' | 'parallel_tool_calls' | 'prediction' | 'store' | 'web_search_options')
>;

/** The documented top-level fields. */
export const knownChatFields: ReadonlySet<string> = new Set(Object.keys(chatSchema.properties));

/** Whether every field of the body has its shape. Removes nulls that stand for absent fields. */
export const isChatBody = createLenientCheck(chatSchema);
