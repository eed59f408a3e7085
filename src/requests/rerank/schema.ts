import { type Static, Type } from 'typebox';
import { createLenientCheck } from '../../schema/create-lenient-check.ts';
import { maybe, trace } from '../../schema/shapes.ts';
import { providerPreferences } from '../responses/schema/plugins.ts';
import { maxIdCharacters } from '../session-header.ts';

/**
 * The body of `POST /rerank`. Open: unknown top-level fields are ignored and named in the metadata.
 *
 * @see docs/reference/rerank.md#request-body
 */
export const rerankSchema = Type.Object({
  model: Type.String({ minLength: 1 }),
  models: maybe(Type.Array(Type.String({ minLength: 1 }), { maxItems: 100 })),
  query: Type.String({ minLength: 1 }),
  documents: Type.Array(Type.Union([Type.String(), Type.Object({ text: Type.String() })]), { minItems: 1 }),
  top_n: maybe(Type.Integer({ minimum: 1 })),
  return_documents: maybe(Type.Boolean()),
  max_tokens_per_doc: maybe(Type.Integer({ minimum: 1 })),
  provider: maybe(providerPreferences),
  session_id: Type.Optional(Type.String({ maxLength: maxIdCharacters })),
  user: maybe(Type.String({ maxLength: maxIdCharacters })),
  trace: maybe(trace),
});

/** A body whose every field has its shape. */
export type RerankBody = Static<typeof rerankSchema>;

/** Whether every field of the body has its shape. Removes nulls that stand for absent fields. */
export const isRerankBody = createLenientCheck(rerankSchema);
