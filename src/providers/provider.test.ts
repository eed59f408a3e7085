import { expect, it } from 'vitest';
import { openaiChat } from './openai-chat/index.ts';
import { createProvider, type ProviderEntry } from './provider.ts';

const entry: ProviderEntry = {
  id: 'acme',
  name: 'Acme',
  wire: openaiChat,
  baseUrl: 'http://127.0.0.1:9/v1',
  apiKeys: [],
  headers: {},
  timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: 1 },
  dialect: {},
};

const headersOf = (list: string[]): Record<string, string> =>
  Object.fromEntries(Array.from({ length: list.length / 2 }, (_, index) => [list[2 * index], list[2 * index + 1]]));

it('sends no key when there is none', () => {
  const provider = createProvider(entry);
  expect(headersOf(provider.headersFor(provider.keys.take(), false))).toEqual({
    'content-type': 'application/json',
    accept: 'application/json',
    'user-agent': 'headgate',
  });
  expect(headersOf(provider.headersFor(provider.keys.take(), true))['accept']).toBe('text/event-stream');
});

it('lets several keys take turns, streamed or not', () => {
  const provider = createProvider({ ...entry, apiKeys: ['one', 'two', 'three'] });
  const used = [true, false, false, true].map(
    (stream) => headersOf(provider.headersFor(provider.keys.take(), stream))['authorization'],
  );
  expect(new Set(used.slice(0, 3))).toEqual(new Set(['Bearer one', 'Bearer two', 'Bearer three']));
  expect(used[3]).toBe(used[0]);
});

it('lets the headers of the configuration win, however they are written', () => {
  const provider = createProvider({ ...entry, apiKeys: ['one'], headers: { Authorization: 'Basic x', 'X-A': 'b' } });
  expect(headersOf(provider.headersFor(provider.keys.take(), false))).toMatchObject({
    authorization: 'Basic x',
    'x-a': 'b',
  });
  expect(provider.headersFor(provider.keys.take(), false).filter((each) => /^authorization$/i.test(each))).toHaveLength(
    1,
  );
});

it('masks its keys and long headers, and no short header', () => {
  const provider = createProvider({
    ...entry,
    apiKeys: ['key(1)', 'key-2'],
    headers: { 'x-pass': 'a-long-secret-pass', 'x-app': 'chat' },
  });
  expect(provider.maskKeys('key(1), key-2 and key-2 chat with a-long-secret-pass')).toBe(
    '[masked], [masked] and [masked] chat with [masked]',
  );
});

it('masks the token within a header, where the provider repeats it alone', () => {
  const provider = createProvider({ ...entry, headers: { authorization: 'Bearer tok-abcdef-ghijkl', 'x-b': 'a b c' } });
  expect(provider.maskKeys('tok-abcdef-ghijkl of Bearer tok-abcdef-ghijkl; a b c')).toBe('[masked] of [masked]; a b c');
});

it('masks what is left of a key that the cut of a message has parted', () => {
  const provider = createProvider({ ...entry, apiKeys: ['0b3f2d1a-77c1-4e5e'] });
  expect(provider.maskKeys('The key 0b3f2d1a-77…')).toBe('The key [masked]…');
  expect(provider.maskKeys('The key 0b3…')).toBe('The key 0b3…');
  expect(provider.maskKeys('The key 0b3f2d1a-77 is another')).toBe('The key 0b3f2d1a-77 is another');
});
