import { Type } from 'typebox';
import { oneOf } from '../../schema/shapes.ts';
import { named } from '../schema-writer.ts';
import { routerMetadata } from './response.ts';
import { count, flag, number, text } from './shapes.ts';

const usage = named(
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
    usage,
    router_metadata: Type.Optional(routerMetadata),
  }),
);

/** @see docs/reference/rerank.md#response */
export const rerankResult = named(
  'RerankResult',
  Type.Object({
    id: text,
    object: oneOf('list'),
    model: text,
    provider: text,
    results: Type.Array(
      Type.Object({
        index: count,
        relevance_score: number,
        document: Type.Optional(Type.Object({ text })),
      }),
    ),
    meta: Type.Optional(Type.Object({ billed_units: Type.Object({ search_units: count }) })),
    usage,
    router_metadata: Type.Optional(routerMetadata),
  }),
);
