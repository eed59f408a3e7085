import { Type } from 'typebox';
import { named } from '../schema-writer.ts';
import { flag, text } from './shapes.ts';
import { routerMetadata } from './response.ts';

/** @see docs/reference/errors.md */
export const errorEnvelope = named(
  'Error',
  Type.Object({
    error: Type.Object({
      code: Type.Integer({ description: 'The HTTP status.' }),
      message: text,
      type: Type.Optional(Type.String({ description: 'Only of chat completions: `metadata.error_type`.' })),
      param: Type.Optional(
        Type.Union([text, Type.Null()], { description: 'Only of chat completions: the first invalid field.' }),
      ),
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
  }),
);

export const errorExample = {
  error: {
    code: 400,
    message: 'user: `user` must be a string, got 5.',
    metadata: { error_type: 'invalid_request', issues: [{ path: 'user', message: '`user` must be a string, got 5.' }] },
  },
};
