import { type Static, Type } from 'typebox';
import { createLenientCheck } from '../../schema/create-lenient-check.ts';
import { embeddingInputTypes, vectorFormats } from '../../domain/embeddings.ts';
import { maybe, mediaUrl, oneOf, trace } from '../../schema/shapes.ts';
import { providerPreferences } from '../responses/schema/plugins.ts';
import { maxIdCharacters } from '../session-header.ts';

/** Parts of one input with a URL of an image, in the shape of chat completions. */
const parts = Type.Object({
  content: Type.Array(
    Type.Union([
      Type.Object({ type: Type.Literal('text'), text: Type.String() }),
      Type.Object({ type: Type.Literal('image_url'), image_url: Type.Object({ url: mediaUrl }) }),
    ]),
    { minItems: 1, maxItems: 100 },
  ),
});

const tokens = () => Type.Array(Type.Integer({ minimum: 0, maximum: 0xffff_ffff }), { minItems: 1 });

/** Other names of input types, which clients of one provider use. */
export const inputTypeAliases = {
  query: 'search_query',
  document: 'search_document',
  passage: 'search_document',
} as const;

/**
 * The body of `POST /embeddings`. Open: unknown top-level fields are ignored and named in the metadata.
 *
 * @see docs/reference/embeddings.md#request-body
 */
export const embeddingSchema = Type.Object({
  model: Type.String({ minLength: 1 }),
  models: maybe(Type.Array(Type.String({ minLength: 1 }), { maxItems: 100 })),
  input: Type.Union([
    Type.String(),
    Type.Array(Type.String(), { minItems: 1 }),
    tokens(),
    Type.Array(tokens(), { minItems: 1 }),
    Type.Array(parts, { minItems: 1 }),
  ]),
  encoding_format: maybe(oneOf(...vectorFormats)),
  dimensions: maybe(Type.Integer({ minimum: 1, maximum: 65_536 })),
  input_type: maybe(
    oneOf(...embeddingInputTypes, ...(Object.keys(inputTypeAliases) as (keyof typeof inputTypeAliases)[])),
  ),
  provider: maybe(providerPreferences),
  session_id: Type.Optional(Type.String({ maxLength: maxIdCharacters })),
  user: maybe(Type.String({ maxLength: maxIdCharacters })),
  trace: maybe(trace),
});

/** A body whose every field has its shape. */
export type EmbeddingBody = Static<typeof embeddingSchema>;

/** Whether every field of the body has its shape. Removes nulls that stand for absent fields. */
export const isEmbeddingBody = createLenientCheck(embeddingSchema);
