import { Type } from 'typebox';
import { expect, it } from 'vitest';
import { DialectError, dialectReader, hintAtFields } from './read-dialect.ts';

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

it('names for the operator everything that is wrong, and what is allowed', () => {
  const messageOf = (settings: Record<string, unknown>, mayShow?: boolean): string => {
    try {
      readDialect(settings, mayShow);
    } catch (error) {
      if (error instanceof DialectError) return error.message;
      throw error;
    }
    return '';
  };
  expect(messageOf({ lowd: true, loud: 1 })).toBe(
    'dialect.lowd is not a setting of acme-wire; did you mean `loud`? dialect.loud must be true or false, got 1',
  );
  expect(messageOf({ size: 1 })).toBe('dialect.size is not a setting of acme-wire; the settings are loud, colors.');
  expect(messageOf({ colors: ['green'] })).toBe('dialect.colors[0] must be one of `red`, `blue`, got "green"');
  expect(messageOf({ colors: ['green'] }, false)).toBe('dialect.colors[0] must be one of `red`, `blue`');
  expect(messageOf({ constructor: 1 })).toContain('dialect.constructor is not a setting');
});

it('hints at fields that are probably misspelled', () => {
  const rules = { temprature: {}, temperature: {}, safe_prompt: {}, tops: {} };
  expect(hintAtFields({ fields: rules })).toEqual([
    { path: 'fields.temprature', message: expect.stringContaining('did you mean `temperature`?') },
  ]);
  expect([hintAtFields({}), hintAtFields({ fields: null })]).toEqual([[], []]);
});
