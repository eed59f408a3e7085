import { expect, it } from 'vitest';
import { createProvider } from '../../providers/provider.ts';
import { simulator } from '../../providers/simulator/index.ts';
import { cleanFields, cleanName } from './clean-names.ts';

const key = 'sk-of-the-operator-1234567890';
const provider = createProvider({
  id: 'up',
  name: 'Up',
  wire: simulator,
  apiKeys: [key],
  headers: {},
  dialect: {},
  timeouts: { connectMs: 1000, firstByteMs: 1000, idleMs: 1000, totalMs: 1000 },
});
const long = 'x'.repeat(300);

it('cleans a name of keys, and cuts it', () => {
  expect(cleanName(`model ${key}`, provider)).toBe('model [masked]');
  expect(cleanName(long, provider)).toHaveLength(200);
  expect(cleanName('x'.repeat(190) + key, provider)).toBe(`${'x'.repeat(190)}[masked]`);
});

it('cleans names and texts of fields wherever they are, and returns the fields that were cut', () => {
  const fields = {
    billing: { payer: key, parts: [`a ${key}`, { [key]: long }] },
    [key]: 1,
    note: long,
    fine: { n: 1, none: null, text: 'as it came' },
  };
  expect(cleanFields(fields, provider)).toEqual(['billing', 'note']);
  expect(fields).toEqual({
    billing: { payer: '[masked]', parts: ['a [masked]', { '[masked]': long.slice(0, 200) }] },
    '[masked]': 1,
    note: long.slice(0, 200),
    fine: { n: 1, none: null, text: 'as it came' },
  });
});

it('cleans fields of any depth', () => {
  let deep: unknown = key;
  for (let level = 0; level < 100_000; level++) deep = [deep];
  const fields = { deep };
  cleanFields(fields, provider);
  let inside: unknown = fields.deep;
  while (Array.isArray(inside)) inside = inside[0];
  expect(inside).toBe('[masked]');
});
