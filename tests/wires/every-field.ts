import type { TSchema } from 'typebox';
import { findKinds } from '../../src/schema/by-kind.ts';
import { keywordsOf } from '../../src/schema/explain-issues.ts';
import { walkFields } from '../interface/walk-fields.ts';

type Fields = Record<string, unknown>;

/** A word that no body has by itself. It is also base64. */
export const word = 'Zq7Sentinel0';

/** Bodies that differ in one field. */
export interface Trial {
  /** The path of the field in the schema: `input[](message)(user).content[](input_text).text`. */
  path: string;
  /** A body in which the field contains the word, or several, each with another value of the field. */
  bodies: Fields[];
}

/** Values of fields, by the end of the path of each field. */
export interface Values {
  /** Values of the fields beside the tried one. */
  beside: Readonly<Record<string, unknown>>;
  /** A value with `*` in the place of the word. */
  tried: Readonly<Record<string, unknown>>;
  /** Values with different meanings. Absent: all of the schema. */
  distinct: Readonly<Record<string, unknown[]>>;
}

/** Creates bodies in which each field of a schema, at every depth, has a recognizable value. */
export function* tryEveryField(schema: TSchema, values: Values): Generator<Trial> {
  for (const { path, schema: field, place } of walkFields(schema, values.beside)) {
    for (const list of listValues(field, path, values)) {
      yield { path, bodies: list.map((value) => place(value) as Fields) };
    }
  }
}

const findByEnd = <Value>(values: Readonly<Record<string, Value>>, path: string): Value | undefined =>
  values[Object.keys(values).find((end) => path.endsWith(end)) ?? ''];

/** Returns one list for each type of a field: a value with the word, or all values of a type without words. */
function listValues(schema: TSchema, path: string, values: Values): unknown[][] {
  if (findKinds(schema)) return []; // its fields are walked
  const distinct = findByEnd(values.distinct, path);
  if (distinct) return [distinct];
  const tried = findByEnd(values.tried, path);
  if (tried !== undefined) return [[JSON.parse(JSON.stringify(tried).replaceAll('*', word))]];
  const { anyOf, enum: known, const: only, type, items, additionalProperties: entry, ...rules } = keywordsOf(schema);
  const { properties, examples, minimum = 1 } = rules as { properties?: object; examples?: string[]; minimum?: number };
  if (anyOf) return anyOf.flatMap((member) => listValues(member, path, values));
  if (only !== undefined || type === 'null') return [];
  if (known) return [known];
  switch (type) {
    case 'array':
      return items ? listValues(items, `${path}[]`, values).map((list) => list.map((value) => [value])) : [[[word]]];
    case 'object':
      if (properties) return [];
      if (typeof entry !== 'object') return [[{ key: word }]];
      return listValues(entry, `${path}{}`, values).map((list) => list.map((key) => ({ key })));
    case 'string':
      return [examples ?? [word]];
    case 'integer':
    case 'number':
      return [[minimum, minimum === 0 ? 1 : minimum * 2]];
    case 'boolean':
      return [[true, false]];
    default:
      return [[word]];
  }
}
