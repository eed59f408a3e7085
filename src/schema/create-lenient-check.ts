import type { Static, TSchema } from 'typebox';
import { createCheck } from './create-check.ts';
import { dropNulls } from './drop-nulls.ts';

/**
 * Creates the check of a value from outside. A null in an optional field counts as absent: it is removed in place if
 * the schema does not accept it. Only a value that has failed its check is searched for them.
 *
 * @see docs/reference/http.md#null
 */
export function createLenientCheck<const Schema extends TSchema>(
  schema: Schema,
): (value: unknown) => value is Static<Schema> {
  const check = createCheck(schema);
  return (value): value is Static<Schema> => check(value) || (dropNulls(schema, value) && check(value));
}
