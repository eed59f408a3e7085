import { expect, it } from 'vitest';
import { createEndUserHash } from './hash-end-user.ts';

const hash = createEndUserHash(Buffer.from('key'));

it('is the same for the same user of a workspace, and never contains the id', () => {
  const first = hash('w1', 'ada@example.com');
  expect(first).toMatch(/^hg_[0-9a-f]{40}$/);
  expect(hash('w1', 'ada@example.com')).toBe(first);
  expect(createEndUserHash(Buffer.from('key'))('w1', 'ada@example.com')).toBe(first);
});

it('differs by workspace, by user and by key', () => {
  const others = [
    hash('w1', 'a'),
    hash('w2', 'a'),
    hash('w1', 'b'),
    createEndUserHash(Buffer.from('other'))('w1', 'a'),
  ];
  expect(new Set(others).size).toBe(4);
});

it('stays correct after more users than it caches', () => {
  const first = hash('w1', 'first');
  for (let i = 0; i < 10_100; i++) hash('w1', `user ${i}`);
  expect(hash('w1', 'first')).toBe(first);
});
