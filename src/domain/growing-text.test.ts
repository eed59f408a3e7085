import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { GrowingText } from './growing-text.ts';

it('is empty at first', () => {
  expect(new GrowingText().text).toBe('');
});

it.each([1, 100, 5000, 20_000])('joins %i pieces in order, also when it is read in between', (count) => {
  const growing = new GrowingText();
  const read = new GrowingText();
  let whole = '';
  for (let index = 0; index < count; index++) {
    const piece = `${index},`;
    whole += piece;
    growing.add(piece);
    read.add(piece);
    if (index % 700 === 0) expect(read.text).toBe(whole);
  }
  expect(growing.text).toBe(whole);
  expect(growing.text).toBe(whole);
  expect(read.text).toBe(whole);
});

it('takes memory in proportion to its text, however small the pieces', () => {
  const before = heldBytes();
  const growing = new GrowingText();
  for (let count = 0; count < 2_000_000; count++) growing.add(pieces[count % pieces.length]!);
  const held = heldBytes() - before;
  expect(growing.text).toHaveLength(2_000_000);
  expect(held).toBeLessThan(8_000_000); // a tree of the pieces takes 60 MB
});

it('takes memory in proportion to its text while that is short', () => {
  const before = heldBytes();
  const texts = Array.from({ length: 2_000 }, () => new GrowingText());
  for (let count = 0; count < 1_000; count++) for (const text of texts) text.add(pieces[count % pieces.length]!);
  const held = heldBytes() - before;
  expect(texts.every(({ text }) => text.length === 1_000)).toBe(true);
  expect(held).toBeLessThan(20_000_000); // trees of the pieces take 60 MB
});

const pieces = ['a', 'b', 'c'];

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heldBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}
