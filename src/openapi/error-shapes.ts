import { type TProperties, type TSchema, Type } from 'typebox';
import { named } from './schema-writer.ts';
import { count, flag, number, openObject, text } from './shapes.ts';

/** @see docs/reference/router-metadata.md */
export const routerMetadata = named(
  'RouterMetadata',
  Type.Object({
    requested: text,
    strategy: text,
    region: text,
    summary: text,
    attempt: Type.Integer(),
    is_byok: flag,
    endpoints: Type.Object({
      total: count,
      available: Type.Array(Type.Object({ provider: text, model: text, selected: flag })),
    }),
    attempts: Type.Optional(
      Type.Array(Type.Object({ provider: text, model: text, status: Type.Integer(), message: Type.Optional(text) })),
    ),
    params: Type.Optional(openObject),
    pipeline: Type.Optional(Type.Array(Type.Object({ type: text, name: text }, { additionalProperties: true }))),
    generation_time: Type.Optional(number),
  }),
);

const describeError = <Code extends TSchema>(code: Code, more: TProperties = {}) =>
  Type.Object({
    ...more,
    error: Type.Object({
      code,
      message: text,
      type: Type.String({ description: '`metadata.error_type`.' }),
      param: Type.Union([text, Type.Null()], { description: 'The first invalid field.' }),
      metadata: Type.Object(
        {
          error_type: Type.String({ description: 'The stable detail, such as `invalid_request`.' }),
          issues: Type.Optional(
            Type.Array(Type.Object({ path: text, message: text }), {
              description: 'All problems of an invalid body or query.',
            }),
          ),
        },
        { additionalProperties: true },
      ),
      availability: Type.Optional(
        Type.Object(
          { code: text, retryable: flag, requested_models: Type.Array(text) },
          { additionalProperties: true },
        ),
      ),
    }),
    router_metadata: Type.Optional(routerMetadata),
  });

/** @see docs/reference/errors.md */
export const errorEnvelope = named('Error', describeError(Type.Integer({ description: 'The HTTP status.' })));

/** @see docs/reference/rerank.md#clients-of-cohere */
export const rerankError = named(
  'RerankError',
  describeError(Type.Integer({ description: 'The HTTP status.' }), {
    message: Type.String({ description: '`error.message`.' }),
  }),
);

/** @see docs/reference/errors.md#codes-of-openai */
export const openAIError = named(
  'OpenAIError',
  describeError(Type.String({ description: 'A code of OpenAI, such as `invalid_api_key`.' })),
);

export const errorExample = {
  error: {
    code: 400,
    message: 'user: `user` must be a string, got 5.',
    type: 'invalid_request',
    param: 'user',
    metadata: { error_type: 'invalid_request', issues: [{ path: 'user', message: '`user` must be a string, got 5.' }] },
  },
};
