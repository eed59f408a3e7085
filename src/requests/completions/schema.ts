import { type Static, Type } from 'typebox';
import { createLenientCheck } from '../../schema/create-lenient-check.ts';
import { maybe } from '../../schema/shapes.ts';
import { chatSettings } from '../chat/schema.ts';

const prompt = Type.Union([
  Type.String({ minLength: 1 }),
  Type.Array(Type.String({ minLength: 1 }), {
    minItems: 1,
    maxItems: 1,
    says: 'must be a text, or a list of one text: send one request for each prompt, and texts in place of token ids',
  }),
]);

/**
 * The body of the older `POST /completions`. Open: unknown top-level fields are dropped and named in the metadata.
 *
 * @see docs/reference/completions.md
 */
export const completionSchema = Type.Object({
  ...chatSettings,
  best_of: maybe(Type.Literal(1, { says: 'must be 1: only one completion is generated' })),
  echo: maybe(Type.Literal(false, { says: 'must be `false`: models of today do not repeat the prompt' })),
  logprobs: maybe(Type.Integer({ minimum: 0, maximum: 5 })),
  prompt,
  suffix: Type.Optional(Type.Null({ says: 'is not offered: models of today do not insert text' })),
});

/** A checked body of `POST /completions`. */
export type CompletionBody = Static<typeof completionSchema>;

/** The documented top-level fields. */
export const knownCompletionFields: ReadonlySet<string> = new Set(Object.keys(completionSchema.properties));

/** Whether every field of the body has its shape. Removes nulls that stand for absent fields. */
export const isCompletionBody = createLenientCheck(completionSchema);
