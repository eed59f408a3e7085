import fc from 'fast-check';
import type { TSchema } from 'typebox';
import { findKinds, isObject, refinementsOf } from '../../src/schema/by-kind.ts';
import { createCheck } from '../../src/schema/create-check.ts';
import { keywordsOf } from '../../src/schema/explain-issues.ts';

type Fields = Record<string, unknown>;

/** A field of a schema at any depth, in the smallest value that can have it. */
export interface WalkedField {
  /** Fields, `[]` for an entry of a list, `{}` for an entry of a map, and `(kind)` of an object. */
  path: string;
  isOptional: boolean;
  schema: TSchema;
  /** Creates the whole value with a value of the field. Without arguments: without the field. */
  place: (...value: [unknown?]) => unknown;
}

/**
 * Walks the fields of a schema at every depth: each kind of an object, and each member of a union. A field that is added
 * to a schema is walked by itself.
 *
 * @param samples values in place of generated ones, by the end of their paths
 */
export function* walkFields(
  schema: TSchema,
  samples: Readonly<Record<string, unknown>> = {},
  place: (value: unknown) => unknown = (value) => value,
  path = '',
): Generator<WalkedField> {
  const kinds = findKinds(schema);
  if (kinds) {
    for (const [kind, each] of kinds.schemas) yield* walkFields(each, samples, place, `${path}(${kind})`);
    return;
  }
  const { anyOf, properties, required = [], items, additionalProperties: other } = keywordsOf(schema);
  for (const member of anyOf ?? []) yield* walkFields(member, samples, place, path);
  if (items) yield* walkFields(items, samples, (value) => place([value]), `${path}[]`);
  if (typeof other === 'object') yield* walkFields(other, samples, (value) => place({ key: value }), `${path}{}`);
  if (!properties) return;
  const base = sampleOf(schema, samples, path) as Fields;
  for (const [name, field] of Object.entries(properties)) {
    const at = path === '' ? name : `${path}.${name}`;
    const { [name]: _, ...rest } = base;
    yield {
      path: at,
      isOptional: !required.includes(name),
      schema: field,
      place: (...value) => place(structuredClone(value.length === 0 ? rest : { ...rest, [name]: value[0] })),
    };
    yield* walkFields(field, samples, (value) => place(structuredClone({ ...rest, [name]: value })), at);
  }
}

/** Creates the smallest value of a schema. Never null, if there is another one. */
export function sampleOf(schema: TSchema, samples: Readonly<Record<string, unknown>> = {}, path = ''): unknown {
  const end = Object.keys(samples).find((each) => path.endsWith(each));
  if (end !== undefined) return structuredClone(samples[end]);
  const kinds = findKinds(schema);
  if (kinds) {
    const [kind, first] = [...kinds.schemas][0]!;
    return sampleOf(first, samples, `${path}(${kind})`);
  }
  const { anyOf, enum: words, const: word, type, items, properties = {}, required = [], ...rules } = keywordsOf(schema);
  if (anyOf) return sampleOf(anyOf[0]!, samples, path);
  if (word !== undefined) return word;
  if (words) return words.find((each) => each !== null);
  switch (type) {
    case 'object':
      return refine(
        schema,
        Object.fromEntries(required.map((name) => [name, sampleOf(properties[name]!, samples, `${path}.${name}`)])),
        (name) => sampleOf(properties[name]!, samples, `${path}.${name}`),
      );
    case 'array':
      return items ? [sampleOf(items, samples, `${path}[]`)] : [];
    case 'string':
      if (!rules.pattern) return 'text';
      return fc
        .sample(fc.stringMatching(new RegExp(rules.pattern)), { numRuns: 20, seed: 1 })
        .find(createCheck(schema));
    case 'integer':
    case 'number':
      return Math.max(1, rules.minimum ?? 1);
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return 'text';
  }
}

/** Adds an optional field to an object that needs one of several. */
function refine(schema: TSchema, value: Fields, sample: (name: string) => unknown): Fields {
  const isRefined = (each: unknown): boolean => refinementsOf(schema).every(({ check }) => check(each));
  if (isRefined(value)) return value;
  for (const name of Object.keys(keywordsOf(schema).properties ?? {})) {
    const candidate = { ...value, [name]: sample(name) };
    if (isRefined(candidate)) return candidate;
  }
  throw new Error('The sample does not pass its refinement.');
}

/** Returns a value without the fields that are null. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, each]) => (each === null ? [] : [[key, withoutNulls(each)]])),
  );
}
