import { Type } from 'typebox';
import { named } from '../../openapi/schema-writer.ts';
import {
  anything,
  count,
  flag,
  inData,
  listOf,
  number,
  numberOrNull,
  openObject,
  seconds,
  text,
  textOrNull,
  time,
} from '../../openapi/shapes.ts';

const architecture = Type.Object({
  modality: textOrNull,
  input_modalities: Type.Array(text),
  output_modalities: Type.Array(text),
  tokenizer: Type.Optional(textOrNull),
  instruct_type: Type.Null(),
});

/** Decimal strings, USD per token, request, image or search. `-1`: the price varies or is unknown. */
const pricing = Type.Object({ prompt: text, completion: text }, { additionalProperties: true });

const modelFields = {
  id: text,
  canonical_slug: text,
  name: text,
  created: seconds,
  description: Type.Optional(text),
  context_length: numberOrNull,
  architecture,
  pricing,
  top_provider: Type.Object({ context_length: numberOrNull, max_completion_tokens: numberOrNull, is_moderated: flag }),
  per_request_limits: Type.Null(),
  supported_parameters: Type.Array(text),
  default_parameters: Type.Null(),
  supported_voices: Type.Null(),
  links: Type.Object({ details: text }),
  hugging_face_id: textOrNull,
  knowledge_cutoff: textOrNull,
  expiration_date: textOrNull,
  reasoning: Type.Optional(openObject),
  alias_target: Type.Optional(openObject),
};

/** @see docs/reference/models.md */
export const model = named('Model', Type.Object(modelFields));

/** A model in the shape of Anthropic's API, for its clients. */
const anthropicModel = named(
  'AnthropicModel',
  Type.Object({
    type: Type.Literal('model'),
    id: text,
    display_name: text,
    created_at: time,
    lifecycle: Type.Literal('active'),
    line: Type.Null(),
    max_input_tokens: Type.Union([count, Type.Null()]),
    max_tokens: Type.Union([count, Type.Null()]),
    capabilities: Type.Null(),
    deprecated_at: Type.Null(),
    retires_at: Type.Union([time, Type.Null()]),
  }),
);

/** A model where clients of the compatible API look for it. */
const retrievedModel = named(
  'RetrievedModel',
  Type.Object({ ...modelFields, object: Type.Literal('model'), owned_by: text }),
);

/** For clients of OpenAI and of Anthropic. */
export const retrievedModels = Type.Union([retrievedModel, anthropicModel]);

export const modelList = Type.Union([
  listOf(retrievedModel, { object: Type.Literal('list'), links: Type.Object({ next: textOrNull }) }),
  Type.Object({
    data: Type.Array(anthropicModel),
    has_more: flag,
    first_id: textOrNull,
    last_id: textOrNull,
  }),
]);
export const modelCount = inData(Type.Object({ count }));

const percentiles = Type.Union([Type.Null(), Type.Object({ p50: number, p75: number, p90: number, p99: number })]);

const endpoint = named(
  'Endpoint',
  Type.Object({
    name: text,
    model_id: text,
    model_name: text,
    provider_name: text,
    tag: text,
    context_length: count,
    max_completion_tokens: numberOrNull,
    max_prompt_tokens: numberOrNull,
    quantization: textOrNull,
    status: Type.Integer({ description: '0: normal, -1: degraded, -2: down.' }),
    supported_parameters: Type.Array(text),
    pricing,
    uptime_last_5m: numberOrNull,
    uptime_last_30m: numberOrNull,
    uptime_last_1d: numberOrNull,
    latency_last_30m: percentiles,
    throughput_last_30m: percentiles,
    supports_implicit_caching: flag,
    supports_tool_choice: Type.Object({ auto: flag, none: flag, required: flag, function: flag }),
  }),
);

export const modelEndpoints = inData(
  Type.Object({
    id: text,
    name: text,
    created: seconds,
    description: text,
    architecture,
    endpoints: Type.Array(endpoint),
  }),
);

/** @see docs/reference/models.md#endpoints */
export const endpointList = inData(Type.Array(endpoint));

export const providerList = inData(
  Type.Array(
    named(
      'Provider',
      Type.Object({
        name: text,
        slug: text,
        privacy_policy_url: Type.Null(),
        terms_of_service_url: Type.Null(),
        status_page_url: Type.Null(),
        headquarters: Type.Null(),
        datacenters: Type.Null(),
      }),
    ),
  ),
);

/** @see docs/reference/images.md */
export const imageModelList = inData(
  Type.Array(
    named(
      'ImageModel',
      Type.Object({
        id: text,
        name: text,
        description: text,
        created: seconds,
        architecture: Type.Object({ input_modalities: Type.Array(text), output_modalities: Type.Array(text) }),
        supported_parameters: openObject,
        supports_streaming: flag,
        endpoints: text,
      }),
    ),
  ),
);

export const imageEndpoints = Type.Object({
  id: text,
  endpoints: Type.Array(
    named(
      'ImageEndpoint',
      Type.Object({
        provider_name: text,
        provider_slug: text,
        provider_tag: textOrNull,
        supported_parameters: openObject,
        allowed_passthrough_parameters: Type.Array(text),
        supports_streaming: flag,
        pricing: Type.Array(
          Type.Object({ billable: text, unit: text, cost_usd: anything }, { additionalProperties: true }),
        ),
      }),
    ),
  ),
});
