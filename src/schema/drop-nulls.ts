import type { TSchema } from 'typebox';
import { findKinds, isObject, type Kinds } from './by-kind.ts';
import { keywordsOf } from './explain-issues.ts';

/** Removes nulls from a value in place. @returns whether there were any */
type Drop = (value: unknown) => boolean;

/** The function for each schema, created at its first use. Undefined: no value of the schema has fields. */
const drops = new WeakMap<TSchema, { readonly drop: Drop | undefined }>();

/**
 * Removes the nulls of optional fields whose schema does not accept null, at every depth. Works in place. A null in a
 * required field, in a list, in a map with the caller's own keys or in a value without a schema stays.
 *
 * @returns whether a null was removed
 * @see docs/reference/http.md#null
 */
export function dropNulls(schema: TSchema, value: unknown): boolean {
  return findDrop(schema)?.(value) === true;
}

function findDrop(schema: TSchema): Drop | undefined {
  let known = drops.get(schema);
  if (!known) {
    known = { drop: createDrop([schema]) };
    drops.set(schema, known);
  }
  return known.drop;
}

/** @param alternatives a value is of at least one of them */
function createDrop(alternatives: readonly TSchema[]): Drop | undefined {
  if (alternatives.length === 0) return undefined;
  const [first, ...others] = alternatives.flatMap(listMembers);
  const kinds = findKinds(first!); // each schema has at least one member
  if (others.length === 0 && kinds) return (value) => dropFromKind(kinds, value);
  const members = [first!, ...others];
  const dropFromList = createListDrop(members);
  const dropFromObject = createObjectDrop(members);
  if (!dropFromList && !dropFromObject) return undefined;
  return (value) =>
    Array.isArray(value) ? dropFromList?.(value) === true : isObject(value) && dropFromObject?.(value) === true;
}

/** Returns the members of a union, and those of its members. */
function listMembers(schema: TSchema): readonly TSchema[] {
  const { anyOf } = keywordsOf(schema);
  return anyOf && !findKinds(schema) ? anyOf.flatMap(listMembers) : [schema];
}

function createListDrop(members: readonly TSchema[]): ((list: readonly unknown[]) => boolean) | undefined {
  const drop = createDrop(members.flatMap((member) => keywordsOf(member).items ?? []));
  if (!drop) return undefined;
  return (list) => {
    let found = false;
    for (const entry of list) if (drop(entry)) found = true;
    return found;
  };
}

interface FieldRule {
  /** Whether null is removed. False: some alternative accepts it, or all require the field. */
  readonly isDropped: boolean;
  readonly drop: Drop | undefined;
}

/** @param members all alternatives; those that are no objects have no fields */
function createObjectDrop(members: readonly TSchema[]): ((object: Record<string, unknown>) => boolean) | undefined {
  const kinds = members.flatMap((member) => findKinds(member) ?? []);
  const names = new Set(members.flatMap((member) => Object.keys(keywordsOf(member).properties ?? {})));
  const rules = new Map([...names].map((name) => [name, createRule(name, members)] as const));
  const dropFromOther = createDrop(
    members.flatMap((member) => {
      const { additionalProperties: other } = keywordsOf(member);
      return typeof other === 'object' ? [other] : [];
    }),
  );
  if (rules.size === 0 && kinds.length === 0 && !dropFromOther) return undefined;
  return (object) => {
    let found = false;
    for (const each of kinds) if (dropFromKind(each, object)) found = true;
    for (const name of Object.keys(object)) {
      const value = object[name];
      const rule = rules.get(name);
      if (value === null && rule?.isDropped) {
        delete object[name];
        found = true;
      } else if (typeof value === 'object' && value !== null) {
        const drop = rule ? rule.drop : dropFromOther;
        if (drop?.(value)) found = true;
      }
    }
    return found;
  };
}

function createRule(name: string, members: readonly TSchema[]): FieldRule {
  const having = members.map(keywordsOf).filter(({ properties = {} }) => Object.hasOwn(properties, name));
  const schemas = having.map(({ properties }) => properties![name]!); // each has it
  const isOptional = having.some(({ required = [] }) => !required.includes(name));
  return {
    isDropped: isOptional && !schemas.some(acceptsNull),
    drop: schemas.length === 1 ? findDrop(schemas[0]!) : createDrop(schemas),
  };
}

function acceptsNull(schema: TSchema): boolean {
  if (findKinds(schema)) return false;
  const { anyOf, enum: words, const: word, type } = keywordsOf(schema);
  if (anyOf) return anyOf.some(acceptsNull);
  if (words) return words.includes(null);
  return type === 'null' || word === null || (type === undefined && word === undefined);
}

function dropFromKind(kinds: Kinds, value: unknown): boolean {
  if (!isObject(value)) return false;
  const { key } = kinds;
  const isUnnamed = value[key] === null && kinds.kindWithoutKey(value) !== undefined;
  if (isUnnamed) delete value[key];
  const schema = kinds.findSchema(value);
  const found = schema !== undefined && findDrop(schema)?.(value) === true;
  return found || isUnnamed;
}
