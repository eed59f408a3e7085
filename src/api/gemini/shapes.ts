import { Type } from 'typebox';
import { geminiBatchEmbedSchema, geminiEmbedSchema } from '../../requests/gemini/embeddings.ts';
import { geminiCountSchema, geminiSchema } from '../../requests/gemini/schema.ts';
import { named } from '../../openapi/schema-writer.ts';
import { routerMetadata } from '../../openapi/error-shapes.ts';
import { count, openObject, text } from '../../openapi/shapes.ts';

/** The bodies of all actions. @see docs/reference/gemini.md */
export const geminiRequest = named(
  'GeminiRequest',
  Type.Union([geminiSchema, geminiCountSchema, geminiEmbedSchema, geminiBatchEmbedSchema]),
);

const content = named(
  'GeminiResponse',
  Type.Object(
    {
      candidates: Type.Array(
        Type.Object(
          {
            content: Type.Object({ role: Type.Literal('model'), parts: Type.Optional(Type.Array(openObject)) }),
            finishReason: text,
            index: count,
          },
          { additionalProperties: true },
        ),
      ),
      usageMetadata: Type.Optional(openObject),
      modelVersion: text,
      responseId: text,
    },
    { additionalProperties: true },
  ),
);

const embedding = Type.Object({ values: Type.Array(Type.Number()) });
const more = { usageMetadata: openObject, router_metadata: Type.Optional(routerMetadata) };

/** The responses of all actions. */
export const geminiResult = named(
  'GeminiResult',
  Type.Union([
    content,
    Type.Object({ totalTokens: count }),
    Type.Object({ embedding, ...more }),
    Type.Object({ embeddings: Type.Array(embedding), ...more }),
  ]),
);

/** @see docs/reference/gemini.md#models */
export const geminiModel = named(
  'GeminiModel',
  Type.Object({
    name: text,
    version: text,
    displayName: text,
    description: text,
    inputTokenLimit: Type.Optional(count),
    outputTokenLimit: Type.Optional(count),
    supportedGenerationMethods: Type.Array(text),
    thinking: Type.Optional(Type.Literal(true)),
  }),
);

export const geminiModelList = named(
  'GeminiModelList',
  Type.Object({ models: Type.Array(geminiModel), nextPageToken: Type.Optional(text) }),
);

/** @see docs/reference/gemini.md#errors */
export const geminiError = named(
  'GeminiError',
  Type.Object({
    error: Type.Object({
      code: Type.Integer(),
      message: text,
      status: text,
      details: Type.Optional(Type.Array(openObject)),
      error_type: text,
      metadata: openObject,
      availability: Type.Optional(openObject),
    }),
    router_metadata: Type.Optional(routerMetadata),
  }),
);
