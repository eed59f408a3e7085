import fc from 'fast-check';
import Schema from 'typebox/schema';
import { expect, it } from 'vitest';
import { isFull } from '../../testing/full.ts';
import { fillSchema } from './fill-schema.ts';

const fits = (schema: object, value: unknown) => Schema.Check(schema, value);

it.each([
  ['a text named for its property', { type: 'object', properties: { city: { type: 'string' } } }, { city: 'city' }],
  ['an example of a text without rules', { type: 'string', examples: [7, 'Oslo'] }, 'Oslo'],
  ['an example of a text with a pattern', { type: 'string', pattern: '^O', examples: ['Oslo'] }, 'Oslo'],
  ['the default of a text with a pattern', { type: 'string', pattern: '^O', default: 'Oslo' }, 'Oslo'],
  ['a plain text for a pattern', { type: 'string', pattern: '^O' }, 'value'],
  ['an example of the right length', { type: 'string', maxLength: 4, examples: ['Zurich', 'Oslo'] }, 'Oslo'],
  ['no example that is too long', { type: 'string', maxLength: 2, examples: ['Oslo'] }, 'va'],
  ['an example of a format', { type: 'string', format: 'date', examples: ['2026-02-03'] }, '2026-02-03'],
  ['an example of a boolean', { type: 'boolean', examples: [false] }, false],
  ['an example of a number', { type: 'integer', examples: ['7', 7.5, 7] }, 7],
  ['an example within bounds', { type: 'integer', minimum: 3, examples: [2, 7] }, 7],
  ['the default', { type: 'array', items: { type: 'integer' }, default: [5, 6] }, [5, 6]],
  ['no default that is null', { type: ['string', 'null'], default: null }, 'value'],
  ['const before type', { const: 7 }, 7],
  ['the first of an enum', { enum: ['b', 'a'] }, 'b'],
  ['a type that is not null', { type: ['null', 'integer'] }, 1],
  ['null where nothing else is allowed', { type: 'null' }, null],
  ['the lowest number', { type: 'integer', minimum: 3, maximum: 9 }, 3],
  ['a number above an open bound', { type: 'integer', exclusiveMinimum: 3, maximum: 9 }, 4],
  ['a multiple', { type: 'number', minimum: 1, multipleOf: 0.5 }, 1],
  ['a fraction between open bounds', { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 }, 0.5],
  ['a text of the least length', { type: 'string', minLength: 9 }, 'valuevalu'],
  ['a text of the most length', { type: 'string', maxLength: 2 }, 'va'],
  ['one entry', { type: 'array', items: { type: 'boolean' } }, [true]],
  ['as many entries as are needed', { type: 'array', items: { type: 'string' }, minItems: 2 }, ['value', 'value 2']],
  ['a tuple', { type: 'array', prefixItems: [{ const: 1 }, { const: 2 }], items: false, minItems: 2 }, [1, 2]],
  ['an empty list', { type: 'array', maxItems: 0 }, []],
  [
    'entries that differ',
    { type: 'array', items: { enum: ['a', 'b', 'c'] }, minItems: 3, uniqueItems: true },
    ['a', 'b', 'c'],
  ],
  ['required names without a schema', { type: 'object', required: ['a'] }, { a: 'a' }],
  ['a map', { type: 'object', additionalProperties: { type: 'integer' } }, { key_1: 1 }],
  [
    'all of several',
    {
      allOf: [
        { type: 'number', minimum: 2 },
        { type: 'integer', minimum: 1 },
      ],
    },
    2,
  ],
  ['any that can be', { anyOf: [false, { type: 'string', enum: [1] }, { const: 'yes' }] }, 'yes'],
  ['rules beside a choice', { type: 'integer', anyOf: [{ minimum: 5 }, { minimum: 9 }] }, 5],
  ['true', true, 'value'],
  ['nothing that can be', false, null],
])('fills %s', (_, schema, value) => {
  expect(fillSchema(schema)).toEqual(value);
});

it.each([
  'date-time',
  'date',
  'time',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uri',
  'uri-reference',
  'uuid',
])('fills the format %s', (format) => {
  const schema = { type: 'string', format };
  expect(fits(schema, fillSchema(schema))).toBe(true);
});

it('follows $ref to definitions and the root', () => {
  const schema = {
    type: 'object',
    properties: {
      city: { $ref: '#/$defs/a~1b' },
      town: { $ref: '#/$defs/b', minLength: 3 },
      next: { anyOf: [{ $ref: '#' }, { type: 'null' }] },
    },
    required: ['city', 'town', 'next'],
    additionalProperties: false,
    $defs: { 'a/b': { const: 'Paris' }, b: { type: 'string' } },
  };
  expect(fillSchema(schema)).toEqual({ city: 'Paris', town: 'town', next: null });
});

it.each([
  [
    'a list of itself',
    {
      $ref: '#/$defs/tree',
      $defs: {
        tree: {
          type: 'object',
          properties: { children: { type: 'array', items: { $ref: '#/$defs/tree' } } },
          required: ['children'],
        },
      },
    },
  ],
  [
    'branches that recur',
    {
      anyOf: [
        {
          type: 'object',
          properties: { left: { $ref: '#' }, right: { $ref: '#' }, middle: { $ref: '#' } },
          required: ['left', 'right', 'middle'],
        },
        { type: 'integer' },
      ],
    },
  ],
])('ends %s', (_, schema) => {
  const value = fillSchema(schema);
  expect(value).not.toBe(null);
  expect(fits(schema, value)).toBe(true);
});

it('fills parts of an allOf that refer to each other', () => {
  const base = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] };
  const part = { type: 'object', properties: { base: { $ref: '#/$defs/base' } }, required: ['base'] };
  const schema = { allOf: [{ $ref: '#/$defs/base' }, { $ref: '#/$defs/part' }], $defs: { base, part } };
  expect(fillSchema(schema)).toEqual({ id: 1, base: { id: 1 } });
});

it('gives up where every value would be endless, or the work is', () => {
  expect(fillSchema({ type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] })).toBe(null);
  expect(fillSchema({ $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } })).toBe(null);
  const both = { anyOf: [{ type: 'string' }, { type: 'integer' }] };
  expect(fillSchema({ allOf: [...Array(30).fill(both), { type: 'boolean' }] })).toBe(null);
  expect(fillSchema({ type: 'array', minItems: 1e9 })).toBe(null);
});

/** Each definition refers to the next one twice. */
const doubled = (count: number, keyword: string) => ({
  type: 'object',
  properties: { a: { $ref: '#/$defs/0' } },
  $defs: Object.fromEntries(
    Array.from({ length: count }, (_, at) => {
      const next = { $ref: `#/$defs/${at + 1}` };
      return [String(at), at + 1 === count ? { type: 'string' } : { [keyword]: [next, next] }];
    }),
  ),
});

it.each([
  ['branches that double', doubled(40, 'oneOf')],
  ['choices that double in a branch', { oneOf: [{ type: 'object' }, { $ref: '#/$defs/0' }], ...doubled(40, 'anyOf') }],
  [
    'many branches with many definitions',
    {
      oneOf: Array.from({ length: 3000 }, () => ({ type: 'string' })),
      $defs: Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`d${at}`, { const: at }])),
    },
  ],
])('bounds the work: %s', (_, schema) => {
  expect(fillSchema(schema)).not.toBe(null);
});

it.each([
  { required: 'a' },
  { allOf: [{ required: 'a' }, { required: 5, enum: 4 }] },
  { type: 7 },
  { properties: null, type: 'object' },
  { type: 'array', minItems: 'many' },
  { $ref: '#/no/%E0%A4%A/where' },
  { type: 'object', required: [{}] },
  { required: [5] },
  { minItems: { toString: 1 }, type: 'array' },
  { type: { toString: 1 } },
])('survives a schema that is none: %j', (schema) => {
  expect(() => JSON.stringify(fillSchema(schema))).not.toThrow();
});

const bounds = fc.tuple(fc.integer({ min: -50, max: 50 }), fc.integer({ min: 0, max: 20 }));
const leaf = fc.oneof(
  fc.constant({ type: 'boolean' }),
  fc.constant({ type: 'null' }),
  fc.constant({}),
  fc.record({ type: fc.constant('string'), format: fc.constantFrom('date-time', 'email', 'uuid', 'uri', 'ipv4') }),
  fc.tuple(fc.nat(8), fc.nat(8)).map(([min, more]) => ({ type: 'string', minLength: min, maxLength: min + more })),
  bounds.map(([low, more]) => ({ type: 'integer', minimum: low, maximum: low + more })),
  bounds.map(([low, more]) => ({ type: 'integer', exclusiveMinimum: low, exclusiveMaximum: low + more + 2 })),
  bounds.map(([low, more]) => ({ type: ['null', 'number'], exclusiveMinimum: low / 7, maximum: (low + more + 1) / 7 })),
  bounds.map(([low]) => ({ type: 'integer', maximum: low, multipleOf: 3 })),
  fc.uniqueArray(fc.oneof(fc.string(), fc.integer()), { minLength: 1 }).map((values) => ({ enum: values })),
  fc.jsonValue().map((value) => ({ const: JSON.parse(JSON.stringify(value)) })),
);
const { schema } = fc.letrec<{ schema: object }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc
      .tuple(fc.dictionary(fc.string(), tie('schema'), { maxKeys: 4 }), fc.boolean(), fc.boolean())
      .map(([properties, isRequired, isOpen]) => ({
        type: 'object',
        properties,
        required: isRequired ? Object.keys(properties) : [],
        additionalProperties: isOpen,
      })),
    fc
      .tuple(tie('schema'), fc.nat(3), fc.nat(3))
      .map(([items, min, more]) => ({ type: 'array', items, minItems: min, maxItems: min + more })),
    fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
    fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((branches) => ({
      oneOf: branches.map((branch, index) => ({
        type: 'object',
        properties: { kind: { const: index }, value: branch },
        required: ['kind', 'value'],
      })),
    })),
    tie('schema').map((part) => ({ allOf: [part, {}] })),
  ),
}));

it('fits whatever it fills, and fills it the same way again', () => {
  fc.assert(
    fc.property(schema, (wanted) => {
      const value = fillSchema(wanted);
      expect(fits(wanted, value)).toBe(true);
      expect(fillSchema(wanted)).toEqual(value);
    }),
    { numRuns: isFull ? 600 : 120 },
  );
});

it('fits recursive schemas', () => {
  fc.assert(
    fc.property(schema, fc.boolean(), (part, isRequired) => {
      const wanted = {
        $ref: '#/$defs/node',
        $defs: {
          node: {
            type: 'object',
            properties: {
              part,
              next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] },
              more: { type: 'array', items: { $ref: '#/$defs/node' } },
            },
            required: isRequired ? ['part', 'next', 'more'] : [],
          },
        },
      };
      expect(fits(wanted, fillSchema(wanted))).toBe(true);
    }),
  );
});

const keywords = [
  'type',
  'enum',
  'const',
  'required',
  'properties',
  'additionalProperties',
  'minProperties',
  'maxProperties',
  'items',
  'prefixItems',
  'contains',
  'minContains',
  'minItems',
  'maxItems',
  'uniqueItems',
  'format',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  '$ref',
  '$defs',
  'definitions',
  'allOf',
  'anyOf',
  'oneOf',
  '$anchor',
  '$id',
  '__proto__',
  'toString',
];
const word = fc.constantFrom(
  'string',
  'object',
  'array',
  'integer',
  'number',
  'a',
  '#',
  '#/$defs/a',
  'toString',
  'uuid',
);
const { nonsense } = fc.letrec<{ nonsense: unknown }>((tie) => ({
  nonsense: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(fc.jsonValue(), word),
    fc.array(tie('nonsense'), { maxLength: 4 }),
    fc
      .array(fc.tuple(fc.oneof(fc.constantFrom(...keywords), word), tie('nonsense')), { maxLength: 6 })
      .map((entries) => {
        return Object.fromEntries(entries);
      }),
  ),
}));

it('never fails, whatever replaces a schema', () => {
  fc.assert(
    fc.property(nonsense, (wanted) => {
      expect(JSON.stringify(fillSchema(wanted))).toBeTypeOf('string');
    }),
    { numRuns: isFull ? 1500 : 200 },
  );
});

const many = Array.from({ length: 100_000 }, (_, index) => `n${index}`);

it.each([
  ['parts', { allOf: many.map((name) => ({ properties: { [name]: true }, required: [name] })) }],
  ['lists of values', { allOf: [{ enum: many }, { enum: many.map((name) => `${name}!`) }] }],
  ['choices', { allOf: many.map(() => ({ anyOf: [{ type: 'string' }, { type: 'number' }] })) }],
  [
    'names',
    {
      $defs: Object.fromEntries(many.map((name) => [name, { $anchor: name }])),
      properties: Object.fromEntries(many.map((name) => [name, { $ref: '#nowhere' }])),
    },
  ],
])('gives up a schema of a hundred thousand %s, or fills it, in its own time', (_, wanted) => {
  expect(JSON.stringify(fillSchema(wanted))).toBeTypeOf('string');
});
