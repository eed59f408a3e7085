import { type Static, type TSchema, type TUnsafe, Type } from 'typebox';
import { efforts } from '../domain/items.ts';
import type { Word } from '../domain/word.ts';

/** The values of a schema, and null. */
export const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

/** An optional field that may also be null. */
export const maybe = <Schema extends TSchema>(schema: Schema) => Type.Optional(nullable(schema));

/** One of a closed list of words. */
export const oneOf = <const Words extends string[]>(...words: Words): TUnsafe<Words[number]> =>
  Type.Unsafe<Words[number]>({ enum: words });

/** Maximum length of a word that the gateway does not know. */
export const MAX_WORD = 64;

/** A word that providers read. They add words before the gateway knows them, so the list is open. */
export const openWord = <const Words extends string[]>(...words: Words): TUnsafe<Word<Words[number]>> =>
  Type.Unsafe<Word<Words[number]>>({ type: 'string', minLength: 1, maxLength: MAX_WORD, examples: words });

/** A list of strings. */
export const strings = () => Type.Array(Type.String());

/** The address of an image: a data URL, or an http or https URL. Each API checks it with words of its own. */
export const mediaUrl = Type.String({ minLength: 1, documented: { pattern: '^(?:data:|https?://)' } });

/** A number of 0 or more. */
export const nonNegative = () => Type.Number({ minimum: 0 });

/**
 * A JSON object whose keys are the caller's own. Not `Type.Record`, because its key pattern `^.*$` skips
 * the check of a value whose key contains a line break.
 */
export function mapOf<Schema extends TSchema>(
  schema: Schema,
  limits: { maxProperties?: number; propertyNames?: TSchema; documented?: Record<string, unknown> } = {},
): TUnsafe<Record<string, Static<Schema>>> {
  return Type.Unsafe<Record<string, Static<Schema>>>({ type: 'object', additionalProperties: schema, ...limits });
}

/** Any JSON object, passed on unchecked. */
export const anyObject = () => Type.Unsafe<Record<string, unknown>>({ type: 'object' });

/** Returns the length of a text in Unicode code points, as JSON Schema counts them. */
export function characterCount(text: string): number {
  let count = 0;
  for (let index = 0; index < text.length; index++) {
    if (text.codePointAt(index)! > 0xffff) index++; // a surrogate pair
    count++;
  }
  return count;
}

/** @see docs/reference/responses.md#prompt-caching */
export const cacheControl = Type.Object(
  { type: Type.Literal('ephemeral'), ttl: Type.Optional(oneOf('5m', '1h')) },
  { component: 'CacheControl' },
);

/** @see docs/reference/responses.md#reasoning */
export const reasoningEffort = oneOf(...efforts.toReversed());

/** An effort that the provider of a request may know. @see docs/reference/responses.md#reasoning */
export const anyEffort = openWord(...efforts.toReversed());

/**
 * `in_progress`, `completed`, `incomplete`: the statuses of a tool call.
 *
 * @see docs/reference/items.md#input-items
 */
export const itemStatus = openWord('in_progress', 'completed', 'incomplete');

/** The statuses of a call of a tool that can fail. */
export const failableStatus = openWord('in_progress', 'completed', 'incomplete', 'failed');

/** The trace context of a request. */
export const trace = Type.Object(
  {
    trace_id: Type.Optional(Type.String()),
    trace_name: Type.Optional(Type.String()),
    span_name: Type.Optional(Type.String()),
    generation_name: Type.Optional(Type.String()),
    parent_span_id: Type.Optional(Type.String()),
  },
  { component: 'Trace' },
);

/** An object of an unknown kind. It passes unchanged. */
export const unknownKind = Type.Object({ type: Type.String() });
