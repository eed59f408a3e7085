import { describe, expect, it } from 'vitest';
import { type Body, read } from '../../tests/routing/call-router.ts';
import { deriveSessionKey, findSessionKey, type SessionKey, StickyMemory } from './sticky.ts';

const MINUTE = 60_000;
const named = (id: string): SessionKey => ({ key: `s:${id}`, isExplicit: true });
const derived = (id: string): SessionKey => ({ key: `d:${id}`, isExplicit: false });

/** A memory of ten minutes and a manual clock. */
function remembering(lifetimeMs = 10 * MINUTE) {
  let now = 1_800_000_000_000;
  let lifetime = lifetimeMs;
  const memory = new StickyMemory(
    () => lifetime,
    () => now,
  );
  return {
    memory,
    pass: (ms: number) => {
      now += ms;
    },
    live: (ms: number) => {
      lifetime = ms;
    },
    remember: (session = named('one'), endpoint = 'm@a') => memory.remember('w', 'm', session, endpoint, 'm'),
    find: (session = named('one')) => memory.find('w', 'm', session)?.endpoint,
  };
}

describe('the endpoint of a session', () => {
  it('is remembered for ten minutes', () => {
    const { remember, find, pass, memory } = remembering();
    expect(find()).toBeUndefined();
    remember();
    pass(10 * MINUTE - 1);
    expect(find()).toBe('m@a');
    pass(1);
    expect(find()).toBeUndefined();
    expect(memory.size).toBe(0);
  });

  it('is remembered for ten more minutes after each success', () => {
    const { remember, find, pass } = remembering();
    remember();
    for (let count = 0; count < 5; count++) {
      pass(9 * MINUTE);
      expect(find()).toBe('m@a');
      remember();
    }
    pass(10 * MINUTE);
    expect(find()).toBeUndefined();
  });

  it('is not remembered longer because of a lookup', () => {
    const { remember, find, pass } = remembering();
    remember();
    pass(9 * MINUTE);
    find();
    pass(MINUTE);
    expect(find()).toBeUndefined();
  });

  it('is the latest one, with the model that a router chose', () => {
    const { memory, remember, find } = remembering();
    remember();
    remember(named('one'), 'm@b');
    expect(find()).toBe('m@b');
    expect(memory.size).toBe(1);
    memory.remember('w', 'router/auto', named('one'), 'acme/one@a', 'acme/one');
    expect(memory.find('w', 'router/auto', named('one'))).toMatchObject({ endpoint: 'acme/one@a', model: 'acme/one' });
  });

  it('is stored by workspace, model and session', () => {
    const { memory, remember } = remembering();
    remember();
    expect(memory.find('other', 'm', named('one'))).toBeUndefined();
    expect(memory.find('w', 'other', named('one'))).toBeUndefined();
    expect(memory.find('w', 'm', named('other'))).toBeUndefined();
    expect(memory.find('w', 'm', derived('one'))).toBeUndefined();
  });

  it('is not remembered with a lifetime of 0, and forgotten when it becomes 0', () => {
    const { memory, remember, find, live } = remembering(0);
    remember();
    expect(memory.size).toBe(0);
    live(MINUTE);
    remember();
    expect(find()).toBe('m@a');
    live(0);
    expect(find()).toBeUndefined();
  });

  it('of the least recent session is forgotten beyond 100,000 sessions', () => {
    const { memory, remember, find } = remembering();
    for (let count = 0; count < 100_000; count++) remember(named(String(count)));
    remember(named('0'));
    remember(named('new'));
    expect(memory.size).toBe(100_000);
    expect(['0', '1', '2', 'new'].map((id) => find(named(id)))).toEqual(['m@a', undefined, 'm@a', 'm@a']);
  });

  it('reports whether a derived key could match', () => {
    const { memory, remember, pass } = remembering();
    remember();
    expect(memory.mayKnowDerived).toBe(false);
    remember(derived('one'));
    remember(derived('one'));
    remember(derived('two'));
    expect(memory.mayKnowDerived).toBe(true);
    pass(10 * MINUTE);
    expect(memory.mayKnowDerived).toBe(false);
  });
});

describe('the key of a session', () => {
  it.each<[Body, string | undefined]>([
    [{ session_id: 'one' }, 's:one'],
    [{ session_id: 'one', prompt_cache_key: 'two' }, 's:one'],
    [{ prompt_cache_key: 'two' }, 'c:two'],
    [{ prompt_cache_key: null }, undefined],
    [{ session_id: '' }, undefined],
    [{}, undefined],
  ])('of %j is %s', (body, key) => {
    expect(findSessionKey(read(body))?.key).toBe(key);
  });

  it('distinguishes session_id from prompt_cache_key', () => {
    const keys = [{ session_id: 'one' }, { prompt_cache_key: 'one' }].map((body) => findSessionKey(read(body))?.key);
    expect(new Set(keys).size).toBe(2);
  });
});

describe('a derived key', () => {
  const message = (role: string, content: unknown) => ({ type: 'message', role, content });
  const keyOf = (body: Body) => deriveSessionKey(read(body))?.key;
  const begin = [message('system', 'Be brief.'), message('user', 'Hi.')];

  it('uses the first system or developer message and the first other one, so it stays the same', () => {
    const later = [...begin, message('assistant', 'Hi!'), message('user', 'Bye.'), message('system', 'Be long.')];
    expect(keyOf({ input: later })).toBe(keyOf({ input: begin }));
    expect(keyOf({ input: begin.toReversed() })).toBe(keyOf({ input: begin }));
    expect(keyOf({ input: [message('developer', 'Be brief.'), begin[1]] })).toBe(keyOf({ input: begin }));
    expect(keyOf({ input: [{ type: 'reasoning', id: 'r', summary: [] }, ...begin] })).toBe(keyOf({ input: begin }));
    expect(keyOf({ input: [begin[1]], instructions: 'Be brief.' })).toBe(keyOf({ input: begin }));
  });

  it('differs for another beginning', () => {
    const inputs = [
      begin,
      [begin[1]],
      [begin[0], message('user', 'Ho.')],
      [message('system', 'Be long.'), begin[1]],
      [begin[0], message('user', [{ type: 'input_text', text: 'Hi.' }])],
    ];
    expect(new Set(inputs.map((input) => keyOf({ input }))).size).toBe(inputs.length);
  });

  it('contains no text of the messages', () => {
    expect(deriveSessionKey(read({ input: begin }))).toEqual({
      key: expect.stringMatching(/^d:[\w-]{43}$/),
      isExplicit: false,
    });
  });

  it('is undefined without a message', () => {
    expect(deriveSessionKey(read({}))).toBeUndefined();
    expect(deriveSessionKey(read({ input: [begin[0]] }))).toBeUndefined();
    expect(deriveSessionKey(read({ input: [], instructions: 'Be brief.' }))).toBeUndefined();
  });
});
