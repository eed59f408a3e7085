import { Type } from 'typebox';
import { oneOf } from '../../schema/shapes.ts';
import { named } from '../../openapi/schema-writer.ts';
import { routerMetadata } from '../../openapi/error-shapes.ts';
import { count, flag, number, text } from '../../openapi/shapes.ts';

export const retrievalUsage = named(
  'RetrievalUsage',
  Type.Object({
    prompt_tokens: count,
    total_tokens: count,
    search_units: Type.Optional(count),
    prompt_tokens_details: Type.Optional(Type.Object({ image_tokens: count })),
    cost: Type.Optional(Type.Number({ description: 'USD. Absent: no price is known.' })),
    is_byok: flag,
  }),
);

/** @see docs/reference/embeddings.md#response */
export const embeddingList = named(
  'EmbeddingList',
  Type.Object({
    object: oneOf('list'),
    data: Type.Array(
      Type.Object({
        object: oneOf('embedding'),
        index: count,
        embedding: Type.Union([Type.Array(number), text]),
      }),
    ),
    model: text,
    id: text,
    provider: text,
    usage: retrievalUsage,
    router_metadata: Type.Optional(routerMetadata),
  }),
);
