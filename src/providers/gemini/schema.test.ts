import { expect, it } from 'vitest';
import { writeOpenApiSchema } from './schema.ts';

it.each<[object, object, string[]]>([
  [{ type: ['string', 'null'] }, { type: 'string', nullable: true }, []],
  [{ type: ['string', 'integer'] }, { anyOf: [{ type: 'string' }, { type: 'integer' }] }, []],
  [{ const: 'a' }, { type: 'string', enum: ['a'] }, []],
  [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, { type: 'string', nullable: true }, []],
  [{ oneOf: [{ type: 'string' }, { type: 'number' }] }, { anyOf: [{ type: 'string' }, { type: 'number' }] }, []],
  [
    {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { a: { type: 'array', items: { type: 'string', const: 'b' } } },
      required: ['a'],
      additionalProperties: false,
    },
    { type: 'object', properties: { a: { type: 'array', items: { type: 'string', enum: ['b'] } } }, required: ['a'] },
    [],
  ],
  [
    { type: 'object', additionalProperties: { type: 'string' }, $ref: '#/$defs/a', not: {} },
    { type: 'object' },
    ['additionalProperties', 'not', '$ref'],
  ],
  [
    {
      properties: { a: { $ref: '#/$defs/a' }, b: { $ref: '#/definitions/c~1d', description: 'nearer' } },
      $defs: { a: { type: 'string' } },
      definitions: { 'c/d': { description: 'farther', anyOf: [{ $ref: '#/$defs/a' }, { type: 'null' }] } },
    },
    { properties: { a: { type: 'string' }, b: { type: 'string', nullable: true, description: 'nearer' } } },
    [],
  ],
  [
    { $defs: { n: { type: 'object', properties: { next: { $ref: '#/$defs/n' } } } }, $ref: '#/$defs/n' },
    { type: 'object', properties: { next: { type: 'object' } } },
    ['$ref'],
  ],
  [
    {
      allOf: [
        { properties: { a: { type: 'string' } }, required: ['a'], minProperties: 1 },
        { type: 'object', properties: { b: { type: 'null' } }, required: ['a', 'b'], minProperties: 2 },
      ],
    },
    {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'null' } },
      required: ['a', 'b'],
      minProperties: 1,
    },
    ['another minProperties'],
  ],
  [
    { enum: [1, 2, null], description: 'How many.' },
    { type: 'integer', nullable: true, description: 'How many. One of [1,2].' },
    ['enum of values that are not text'],
  ],
  [{ enum: ['a', null] }, { type: 'string', nullable: true, enum: ['a'] }, []],
  [{ type: 'string', format: 'email' }, { type: 'string' }, ['format email']],
  [{ type: 'string', format: 'date-time' }, { type: 'string', format: 'date-time' }, []],
  // What a caller sends need not be a schema at all.
  [
    { properties: null, anyOf: 'x', enum: 7, allOf: {}, items: [{}], $ref: 7 },
    {},
    ['properties', 'items', '$ref', 'allOf', 'anyOf', 'enum'],
  ],
  [{ items: 7 }, { items: {} }, ['a schema that is 7']],
])('writes %j in the subset', (schema, expected, dropped) => {
  const names = new Set<string>();
  expect(writeOpenApiSchema(schema, names)).toEqual(expected);
  expect([...names]).toEqual(dropped);
});

it('does not unfold a short schema into an endless one', () => {
  const $defs: Record<string, object> = { x0: { type: 'string' } };
  for (let level = 1; level < 60; level++) {
    const $ref = `#/$defs/x${level - 1}`;
    $defs[`x${level}`] = { type: 'object', properties: { a: { $ref }, b: { $ref } } };
  }
  const names = new Set<string>();
  const written = writeOpenApiSchema({ $defs, $ref: '#/$defs/x59' }, names);
  expect(JSON.stringify(written).length).toBeLessThan(1_000_000);
  expect([...names]).toEqual(['$ref']);
});

it('does not write out a long text for each of many references to it', () => {
  const properties = Object.fromEntries(
    Array.from({ length: 4000 }, (_, index) => [`p${index}`, { $ref: '#/$defs/a' }]),
  );
  const names = new Set<string>();
  const a = { type: 'string', description: 'a'.repeat(1_000_000) };
  const written = writeOpenApiSchema({ $defs: { a }, properties }, names);
  expect(JSON.stringify(written).length).toBeLessThan(10_000_000);
  expect([...names]).toEqual(['$ref']);
});

it('joins a hundred thousand parts', () => {
  const names = Array.from({ length: 100_000 }, (_, index) => `p${index}`);
  const allOf = names.map((name) => ({ properties: { [name]: { type: 'string' } }, required: [name] }));
  const written = writeOpenApiSchema({ allOf }, new Set());
  expect(Object.keys(written.properties as object)).toHaveLength(names.length);
  expect(written.required).toEqual(names);
});
