import { type TSchema, Type } from 'typebox';
import { expect, it } from 'vitest';
import { byKind } from './by-kind.ts';
import { createLenientCheck } from './create-lenient-check.ts';
import { dropNulls } from './drop-nulls.ts';
import { anyObject, mapOf, maybe } from './shapes.ts';

const text = Type.Optional(Type.String());
const object = (fields: Record<string, TSchema>) => Type.Object(fields);
const kinds = byKind(
  'a pet',
  'type',
  {
    cat: object({ type: Type.Optional(Type.Literal('cat')), name: text }),
    dog: object({ type: Type.Literal('dog'), name: text }),
  },
  {
    kindWithoutKey: () => 'cat',
    other: object({ type: Type.String(), owner: text }),
    takesOther: (type) => type !== 'bird',
  },
);

it.each<[string, TSchema, given: unknown, left: unknown]>([
  ['an optional field', object({ a: text }), { a: null, b: null }, { b: null }],
  ['a field of an inner object', object({ a: Type.Optional(object({ b: text })) }), { a: { b: null } }, { a: {} }],
  ['a field of an entry of a list', Type.Array(object({ a: text })), [{ a: null }, null], [{}, null]],
  ['a field of a value of a map', mapOf(object({ a: text })), { k: { a: null }, l: null }, { k: {}, l: null }],
  ['a field of a kind', kinds, { type: 'dog', name: null }, { type: 'dog' }],
  ['the name of a kind that needs none', kinds, { type: null, name: null }, {}],
  ['a field of another kind', kinds, { type: 'fish', owner: null, name: null }, { type: 'fish', name: null }],
  [
    'a field that is optional in one member of a union',
    Type.Union([object({ a: text }), object({ a: Type.String() })]),
    { a: null },
    {},
  ],
  [
    'a list of one member of a union',
    Type.Union([Type.String(), Type.Array(kinds)]),
    [{ type: 'dog', name: null }],
    [{ type: 'dog' }],
  ],
])('removes null from %s', (_, schema, given, left) => {
  expect(dropNulls(schema, given)).toBe(true);
  expect(given).toEqual(left);
  expect(dropNulls(schema, given)).toBe(false);
});

it.each<[string, TSchema, given: unknown]>([
  ['a required field', object({ a: Type.String() }), { a: null }],
  ['a field that accepts it', object({ a: maybe(Type.String()) }), { a: null }],
  [
    'a field that accepts it in one member of a union',
    Type.Union([object({ a: text }), object({ a: maybe(Type.String()) })]),
    { a: null },
  ],
  ['a field of any value', object({ a: Type.Optional(Type.Unknown()) }), { a: null }],
  ['an object without a schema', object({ a: anyObject() }), { a: { b: null } }],
  ['a rejected kind', kinds, { type: 'bird', owner: null }],
  ['an inherited name', object({ a: text }), { constructor: null, ['__proto__']: null }],
])('keeps null in %s', (_, schema, given) => {
  const before = structuredClone(given);
  expect(dropNulls(schema, given)).toBe(false);
  expect(given).toEqual(before);
});

it('is not searched for in a body that passes its check', () => {
  const isBody = createLenientCheck(object({ a: text, b: maybe(Type.String()) }));
  const body = new Proxy({ b: null }, { deleteProperty: () => false });
  expect(isBody(body)).toBe(true);
});
