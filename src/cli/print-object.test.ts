import { expect, it } from 'vitest';
import { printObject } from './print-object.ts';

const object = {
  id: 'a1',
  name: 'Team',
  description: null,
  keys: [],
  models: ['a/b', 'c/d'],
  limits: { daily: 5, monthly: null },
  filters: [{ slug: 'email' }],
  disabled: false,
};
function print(options: { json?: boolean }): string {
  let printed = '';
  printObject({ stdout: { write: (text) => (printed += text) } }, object, options);
  return printed;
}

it('lists the fields that have a value', () => {
  expect(print({})).toBe(
    [
      'id            a1',
      'name          Team',
      'models        a/b, c/d',
      'limits.daily  5',
      'filters       {"slug":"email"}',
      'disabled      false',
      '',
    ].join('\n'),
  );
});

it('prints the exact object with --json', () => {
  expect(JSON.parse(print({ json: true }))).toEqual(object);
});
