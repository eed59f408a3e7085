import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { containerIdShape, nameRestarted, nameSessionContainer } from './container-id.ts';

describe('the id of the container of a session', () => {
  it.each(['abc', 'a-b_C9', 'x'.repeat(40), '7f9c24e8-3b12-11ef-8c5b-0242ac120002'])('has the key %s', (key) => {
    expect(nameSessionContainer(key)).toBe(`sess_${key}`);
  });

  it.each([
    ['user:42', 'user-42'],
    ['x'.repeat(41), 'x'.repeat(18)],
    ['alice-support-conversation-main-2026-11-28', 'alice-support-conv'],
    ['müller 📦', 'm-ller-'],
    ['../../etc', '-etc'],
    ['a\0b', 'a-b'],
    ['a@member:bob', 'a-member-bob'],
    ['alice2-rvzgbzyfcrv0i', 'alice2-rvzgbzyfcrv'],
    ['\ud83d', '-'],
  ])('begins with a readable part of the key %j, and ends with a hash', (key, shown) => {
    const id = nameSessionContainer(key);
    expect(id.replace(/[0-9a-f]{40}$/, '')).toBe(`sess_${shown}-`);
    expect(id).toMatch(containerIdShape);
  });

  it.each([
    ['alice-support-conversation-main-2026-11-28', 'carol-support-conversation-main-2026-11-28'],
    ['alice-support-conversation-main', 'carol-support-conversation-main'],
    ['user:42', 'user-42'],
    ['user:42', 'user.42'],
    ['user:42', 'User:42'],
    [' a', 'a '],
    ['\u00e9', 'e\u0301'],
    ['half \ud83d', 'half \ud83c'],
    ['half \ud83d', 'half \ufffd'],
    ['a\0', 'a'],
  ])('differs for %j and %j', (one, other) => {
    const ids = [one, other].map((key) => nameSessionContainer(key).toLowerCase());
    expect(ids[0]).not.toBe(ids[1]);
  });

  it('is never that of a key that looks like the id of another key', () => {
    const long = fc.oneof(fc.string({ minLength: 41, maxLength: 256 }), fc.constantFrom('user:42', '', '\ud83d'));
    fc.assert(
      fc.property(long, fc.integer({ min: 0, max: 5 }), (key, from) => {
        const id = nameSessionContainer(key);
        for (const forged of [id, id.slice(from), id.slice(5), id.slice(5, 45)]) {
          fc.pre(forged !== key);
          expect(nameSessionContainer(forged)).not.toBe(id);
        }
      }),
    );
  });

  it('is never that of a restart', () => {
    const id = nameRestarted(nameSessionContainer('alice2'), 'vzgbzyfcrv0i');
    expect(nameSessionContainer(id.slice('sess_'.length))).not.toBe(id);
  });

  it('is unique, whatever the keys are', () => {
    const key = fc.oneof(
      fc.string({ unit: fc.constantFrom('a', 'A', '-', ':', '\ud83d', '\ude00'), maxLength: 50 }),
      fc.string({ unit: 'binary', maxLength: 256 }),
    );
    fc.assert(
      fc.property(fc.uniqueArray(key, { maxLength: 12 }), (keys) => {
        expect(new Set(keys.map(nameSessionContainer)).size).toBe(keys.length);
      }),
    );
  });
});

describe('the id of a container after a restart', () => {
  it('has a new suffix each time, and the whole id before it', () => {
    expect(nameRestarted('mine', 'abcdefghijkl')).toBe('mine-rabcdefghijkl');
    expect(nameRestarted('mine-rabcdefghijkl', 'mnopqrstuvwx')).toBe('mine-rmnopqrstuvwx');
    expect(nameRestarted('x'.repeat(40), 'abcdefghijkl')).toBe(`${'x'.repeat(40)}-rabcdefghijkl`);
    const long = nameSessionContainer('y'.repeat(256));
    expect(nameRestarted(nameRestarted(long, 'abcdefghijkl'), 'mnopqrstuvwx')).toBe(`${long}-rmnopqrstuvwx`);
  });
});

it.each([
  '',
  'x'.repeat(41),
  'a b',
  'a.b',
  'a@member:ada',
  'intern:7',
  'sess_a\n',
  `gen_${'x'.repeat(41)}`,
  `sess_${'x'.repeat(60)}`,
])('rejects the id %j', (id) => {
  expect(id).not.toMatch(containerIdShape);
});
