import type { TSchema } from 'typebox';
import { findKinds, isObject } from './by-kind.ts';
import { keywordsOf } from './explain-issues.ts';
import { fieldPath } from './report.ts';
import { MAX_WORD } from './shapes.ts';

/** A field that a schema does not have, or a word that it does not list. */
export interface Unknown {
  path: string;
  what: 'field' | 'word';
}

/**
 * Finds the fields that a schema does not know, at every depth, and the unknown words that are no plain word, such as
 * an address. Null is no value. A value without a schema, such as the parameters of a function, has none.
 *
 * @param skips whether a field is not looked at
 */
export function* findUnknown(
  schema: TSchema,
  value: unknown,
  skips: (path: string, field: string, value: unknown) => boolean,
  path = '',
): Generator<Unknown> {
  yield* walk([schema], value, path, skips);
}

type Skips = Parameters<typeof findUnknown>[2];

function* walk(alternatives: readonly TSchema[], value: unknown, path: string, skips: Skips): Generator<Unknown> {
  if (typeof value === 'string') {
    if (alternatives.some((each) => isStrangeWord(each, value))) yield { path, what: 'word' };
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  const members = alternatives.flatMap((each) => listMembers(each, value));
  if (members.some(isFree)) return;
  if (Array.isArray(value)) {
    const items = members.flatMap((member) => keywordsOf(member).items ?? []);
    for (const [index, entry] of value.entries()) yield* walk(items, entry, `${path}[${index}]`, skips);
  } else yield* walkObject(members.map(keywordsOf), value as Record<string, unknown>, path, skips);
}

function* walkObject(
  members: readonly ReturnType<typeof keywordsOf>[],
  value: Record<string, unknown>,
  path: string,
  skips: Skips,
): Generator<Unknown> {
  for (const [field, inner] of Object.entries(value)) {
    if (inner === null || inner === undefined || skips(path, field, inner)) continue;
    const schemas = members.flatMap(({ properties = {}, additionalProperties: other }) => {
      if (Object.hasOwn(properties, field)) return [properties[field]!];
      return typeof other === 'object' ? [other] : [];
    });
    const at = fieldPath(path, field);
    if (schemas.length === 0) yield { path: at, what: 'field' };
    else yield* walk(schemas, inner, at, skips);
  }
}

/** Returns the members of a union, and the kind of a value. */
function listMembers(schema: TSchema, value: object): readonly TSchema[] {
  const kinds = findKinds(schema);
  if (kinds) {
    const kind = isObject(value) ? kinds.findSchema(value) : undefined;
    return kind ? listMembers(kind, value) : [];
  }
  const { anyOf } = keywordsOf(schema);
  return anyOf ? anyOf.flatMap((member) => listMembers(member, value)) : [schema];
}

/** Whether a schema says nothing about the fields of a value. */
function isFree(schema: TSchema): boolean {
  const { type, properties, additionalProperties, enum: words, const: word } = keywordsOf(schema);
  if (words || word !== undefined) return false;
  return type === undefined || (type === 'object' && !properties && additionalProperties === undefined);
}

/** Whether a word is none that the schema lists, and no plain word. */
function isStrangeWord(schema: TSchema, value: string): boolean {
  const { anyOf, examples, maxLength } = keywordsOf(schema);
  if (anyOf) return anyOf.some((member) => isStrangeWord(member, value));
  return examples !== undefined && maxLength === MAX_WORD && !examples.includes(value) && !/^[\w-]+$/.test(value);
}
