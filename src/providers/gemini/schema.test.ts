import { expect, it } from 'vitest';
import { writeOpenApiSchema } from './schema.ts';

it.each<[object, object, string[]]>([
  [{ type: ['string', 'null'] }, { type: 'string', nullable: true }, []],
  [{ type: ['string', 'integer'] }, { anyOf: [{ type: 'string' }, { type: 'integer' }] }, []],
  [{ const: 'a' }, { enum: ['a'] }, []],
  [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, { type: 'string', nullable: true }, []],
  [{ oneOf: [{ type: 'string' }, { type: 'number' }] }, { anyOf: [{ type: 'string' }, { type: 'number' }] }, []],
  [
    {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { a: { type: 'array', items: { const: 1 } } },
      required: ['a'],
      additionalProperties: false,
    },
    { type: 'object', properties: { a: { type: 'array', items: { enum: [1] } } }, required: ['a'] },
    [],
  ],
  [
    { type: 'object', additionalProperties: { type: 'string' }, $ref: '#/$defs/a', not: {} },
    { type: 'object' },
    ['additionalProperties', '$ref', 'not'],
  ],
])('writes %j in the subset', (schema, expected, dropped) => {
  const names = new Set<string>();
  expect(writeOpenApiSchema(schema, names)).toEqual(expected);
  expect([...names]).toEqual(dropped);
});
