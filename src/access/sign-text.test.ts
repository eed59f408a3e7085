import { expect, it } from 'vitest';
import { createTextSigner } from './sign-text.ts';

const sign = createTextSigner(Buffer.from('key'));

it('signs the same text for the same purpose alike, with every process that has the key', () => {
  expect(sign('a', 'text')).toMatch(/^[0-9a-f]{64}$/);
  expect(createTextSigner(Buffer.from('key'))('a', 'text')).toBe(sign('a', 'text'));
});

it('depends on the key, the purpose and the text', () => {
  const others = [
    createTextSigner(Buffer.from('other'))('a', 'text'),
    sign('b', 'text'),
    sign('a', 'texts'),
    sign('a\0', 'text'),
  ];
  for (const other of others) expect(other).not.toBe(sign('a', 'text'));
});
