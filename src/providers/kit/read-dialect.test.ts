import { Type } from 'typebox';
import { expect, it } from 'vitest';
import { dialectReader } from './read-dialect.ts';

const readDialect = dialectReader(
  'acme-wire',
  Type.Object({
    loud: Type.Boolean({ default: false, description: 'Speaks up.' }),
    colors: Type.Array(Type.Enum(['red', 'blue']), { default: ['red'], description: 'What it paints with.' }),
  }),
);

it('gives every setting, those that are absent with their default', () => {
  expect(readDialect({})).toEqual({ loud: false, colors: ['red'] });
  expect(readDialect({ loud: true })).toEqual({ loud: true, colors: ['red'] });
});

it('checks the same settings once', () => {
  const settings = { loud: true };
  expect(readDialect(settings)).toBe(readDialect(settings));
});

it('names for the operator what is wrong and what is allowed', () => {
  expect(() => readDialect({ lowd: true })).toThrow(
    'dialect.lowd is not a setting of acme-wire; these are: loud, colors.',
  );
  expect(() => readDialect({ loud: 1 })).toThrow('dialect.loud cannot be 1. Allowed: true, false. Speaks up.');
  expect(() => readDialect({ colors: ['green'] })).toThrow('Allowed: red, blue. What it paints with.');
  expect(() => readDialect({ constructor: 1 })).toThrow('dialect.constructor is not a setting');
});
