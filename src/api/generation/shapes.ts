import { Type } from 'typebox';
import { nullable } from '../../schema/shapes.ts';
import { named } from '../../openapi/schema-writer.ts';
import {
  anything,
  count,
  flag,
  inData,
  listOf,
  numberOrNull,
  openObject,
  text,
  textOrNull,
  time,
} from '../../openapi/shapes.ts';

const generationFields = {
  id: text,
  created_at: time,
  api_type: text,
  model: textOrNull,
  provider_name: textOrNull,
  streamed: flag,
  cancelled: flag,
  finish_reason: textOrNull,
  native_finish_reason: Type.Null(),
  status: numberOrNull,
  error_type: textOrNull,
  tokens_prompt: numberOrNull,
  tokens_completion: numberOrNull,
  native_tokens_prompt: numberOrNull,
  native_tokens_completion: numberOrNull,
  native_tokens_cached: numberOrNull,
  native_tokens_reasoning: numberOrNull,
  native_tokens_completion_images: numberOrNull,
  num_media_prompt: numberOrNull,
  num_media_completion: numberOrNull,
  num_input_audio_prompt: Type.Null(),
  num_search_results: Type.Null(),
  num_fetches: Type.Null(),
  total_cost: nullable(Type.Number({ description: 'USD. Null: no price is known.' })),
  usage: numberOrNull,
  usage_estimated: flag,
  upstream_inference_cost: numberOrNull,
  cache_discount: Type.Null(),
  is_byok: flag,
  service_tier: textOrNull,
  router: textOrNull,
  latency: numberOrNull,
  moderation_latency: Type.Null(),
  generation_time: numberOrNull,
  session_id: textOrNull,
  workspace_id: text,
  web_search_engine: textOrNull,
  provider_responses: Type.Array(
    Type.Object({
      provider_name: textOrNull,
      model_permaslug: textOrNull,
      endpoint_id: Type.Optional(text),
      is_byok: flag,
      status: numberOrNull,
    }),
  ),
  error_message: nullable(Type.String({ description: 'The message that the client got.' })),
  attempts: Type.Array(
    named(
      'GenerationAttempt',
      Type.Object({
        step: Type.Integer({ description: 'The number of its model call.', minimum: 1 }),
        provider_name: textOrNull,
        provider_id: textOrNull,
        model: textOrNull,
        endpoint_id: textOrNull,
        is_byok: flag,
        provider_key: nullable(Type.String({ description: 'The name of the key. Never its value.' })),
        status: count,
        error_type: textOrNull,
        error_message: textOrNull,
        upstream_request_id: textOrNull,
        start_ms: nullable(Type.Integer({ description: 'From the accepted request. Null: it was not sent.' })),
        first_byte_ms: nullable(Type.Integer({ description: 'From the start of the attempt.' })),
        duration_ms: numberOrNull,
        tokens_prompt: count,
        tokens_cached: count,
        tokens_completion: count,
        tokens_reasoning: count,
        usage_estimated: flag,
        total_cost: numberOrNull,
      }),
    ),
  ),
  tool_calls: Type.Array(
    Type.Object({
      step: count,
      tool: textOrNull,
      outcome: text,
      start_ms: Type.Integer(),
      duration_ms: Type.Integer(),
    }),
  ),
  charges: Type.Array(Type.Object({ name: textOrNull, service: textOrNull, total_cost: numberOrNull })),
  pipeline: Type.Array(
    Type.Object({
      type: text,
      name: text,
      summary: Type.Optional(text),
      guardrail_id: Type.Optional(text),
      guardrail_scope: Type.Optional(text),
      data: Type.Optional(openObject),
      cost_usd: Type.Optional(Type.Number()),
    }),
  ),
  rejected_route: nullable(
    Type.String({ description: 'The route of a request that was rejected before it was served.' }),
  ),
  omitted_requests: Type.Integer({
    description: 'Number of further rejected requests of the key in the same minute, which have no record.',
    minimum: 0,
  }),
  history_omitted: nullable(
    Type.Object(
      { attempts: count, tool_calls: count, pipeline: count },
      { description: 'Number of records that were left out of a long history.' },
    ),
  ),
  app_id: Type.Null(),
  data_region: text,
  external_user: textOrNull,
  tags: Type.Record(Type.String(), Type.String()),
  http_referer: Type.Null(),
  origin: text,
  preset_id: Type.Null(),
  upstream_id: Type.Null(),
  user_agent: Type.Null(),
};

const shownGeneration = named(
  'Generation',
  Type.Object({
    ...generationFields,
    requested_model: textOrNull,
    outcome: text,
    api_key_hash: Type.Optional(text),
    user_id: Type.Optional(textOrNull),
  }),
);

/** @see docs/reference/management.md */
export const generation = inData(shownGeneration);

export const generationList = Type.Object({
  data: Type.Array(shownGeneration),
  next_cursor: textOrNull,
  total_count: Type.Optional(Type.Integer()),
  total_count_is_exact: Type.Optional(flag),
});

export const generationContent = inData(
  named(
    'GenerationContent',
    Type.Object({
      id: text,
      workspace_id: text,
      created_at: time,
      input: anything,
      output: anything,
      error: anything,
      truncated: flag,
    }),
  ),
);

export const feedbackResult = inData(Type.Object({ success: Type.Literal(true) }));

export const feedbackList = listOf(
  named(
    'Feedback',
    Type.Object({
      id: text,
      generation_id: text,
      workspace_id: text,
      category: text,
      comment: textOrNull,
      actor_key_hash: text,
      created_at: time,
    }),
  ),
);
