import { describe, expect, it } from 'vitest';
import { findFaults, type Schema } from './find-faults.ts';

const text: Schema = { type: 'string' };
const schema: Schema = {
  type: 'object',
  properties: {
    parts: {
      type: 'array',
      items: { anyOf: [{ $ref: '#/definitions/Said' }, { $ref: '#/definitions/Called' }, text] },
    },
    role: { type: 'string', enum: ['user', 'assistant'] },
    note: { type: ['string', 'null'] },
    more: { type: 'object', additionalProperties: { type: 'number' } },
  },
  required: ['parts', 'note'],
  definitions: {
    Said: { type: 'object', properties: { type: { const: 'text' }, text }, required: ['type', 'text'] },
    Called: { type: 'object', properties: { type: { const: 'call' }, name: text }, required: ['type', 'name'] },
  },
};

describe('the checker of answers', () => {
  it('finds nothing in a value that fits, with additional properties', () => {
    const value = {
      parts: [{ type: 'text', text: 'x', extra: 1 }, 'x'],
      note: null,
      role: 'user',
      more: { a: 1 },
      also: 1,
    };
    expect(findFaults(schema, value)).toEqual([]);
  });

  it.each([
    ['a missing property', { parts: [] }, ['note is missing']],
    ['a wrong type', { parts: [], note: 5 }, ['note is 5, not string or null']],
    ['an unknown value', { parts: [], note: '', role: 'bot' }, ['role is "bot", not "user" or "assistant"']],
    [
      'an unknown discriminator',
      { parts: [{ type: 'dream' }], note: '' },
      ['parts[] is {"type":"dream"}, which is unknown'],
    ],
    [
      'a property that one of several objects lacks',
      { parts: [{ type: 'call' }], note: '' },
      ['parts[].name is missing'],
    ],
    ['a wrong value of a list of properties', { parts: [], note: '', more: { a: 'x' } }, ['more.a is "x", not number']],
  ])('finds %s', (_, value, faults) => {
    expect(findFaults(schema, value)).toEqual(faults);
  });
});
