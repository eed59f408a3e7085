import { Type } from 'typebox';
import { routerMetadata } from '../../openapi/error-shapes.ts';
import { named } from '../../openapi/schema-writer.ts';
import { count, number, text } from '../../openapi/shapes.ts';
import { oneOf } from '../../schema/shapes.ts';
import { retrievalUsage } from '../embeddings/shapes.ts';

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
    usage: retrievalUsage,
    router_metadata: Type.Optional(routerMetadata),
  }),
);
