import type { TSchema } from 'typebox';
import { findKinds, isObject } from '../../schema/by-kind.ts';
import { isOfType, keywordsOf } from '../../schema/explain-issues.ts';
import { inputItem } from './schema/items.ts';

/**
 * Removes nulls from optional fields of input items whose schema does not allow null. Works in place.
 *
 * @param input of a request that failed its check
 * @returns whether a null was removed
 * @see docs/reference/choices.md, choice 233
 */
export function dropNulls(input: unknown): boolean {
  if (!Array.isArray(input)) return false;
  let found = false;
  for (const item of input) if (dropFrom(inputItem, item)) found = true;
  return found;
}

function dropFrom(schema: TSchema, value: unknown): boolean {
  const kinds = findKinds(schema);
  if (kinds !== undefined) {
    if (!isObject(value)) return false;
    const kind = value[kinds.key] === undefined ? kinds.kindWithoutKey(value) : value[kinds.key];
    const schemaOfKind = typeof kind === 'string' ? kinds.schemas.get(kind) : undefined;
    return schemaOfKind !== undefined && dropFrom(schemaOfKind, value);
  }
  const { anyOf = [], items, properties, required = [] } = keywordsOf(schema);
  const [member, ...others] = anyOf.filter((each) => isOfType(each, value));
  if (member !== undefined) return others.length === 0 && dropFrom(member, value);
  let found = false;
  if (Array.isArray(value) && items !== undefined) {
    for (const entry of value) if (dropFrom(items, entry)) found = true;
  } else if (isObject(value)) {
    for (const [field, rule] of Object.entries(properties ?? {})) {
      if (value[field] === null && !required.includes(field) && !isOfType(rule, null)) {
        delete value[field];
        found = true;
      } else if (value[field] !== undefined && dropFrom(rule, value[field])) found = true;
    }
  }
  return found;
}
