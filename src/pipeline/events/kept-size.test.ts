import { describe, expect, it } from 'vitest';
import type { Chunk } from '../../domain/chunks.ts';
import { KeptSize } from './kept-size.ts';

const delta = (text: string): Chunk => ({ type: 'text', key: 0, delta: text });
const part: Chunk = { type: 'part', key: 0, part: { type: 'output_text', text: '' } };
const done = (index: number, text: string): Chunk => ({
  type: 'part_done',
  key: 0,
  index,
  part: { type: 'output_text', text },
});
const word = 'a'.repeat(10_000);
const envelope = 200;

/** Adds each chunk as a frame whose text has the length given. */
function measure(frames: [Chunk, number][]): KeptSize {
  const size = new KeptSize();
  for (const [chunk, length] of frames) size.add([chunk], length + envelope);
  return size;
}

describe('the size of what is kept of a stream', () => {
  it('counts a part once, though the events that end it repeat its text', () => {
    const size = measure(
      [0, 1, 2].flatMap((index): [Chunk, number][] => [
        [part, 0],
        [delta(word), word.length],
        [done(index, word), word.length],
        [done(index, word), word.length],
      ]),
    );
    expect(size.isMoreThan(3 * word.length - 1)).toBe(true);
    expect(size.isMoreThan(3 * word.length + 12 * envelope)).toBe(false);
  });

  it('counts parts that came without deltas', () => {
    const size = measure([0, 1, 2].map((index) => [done(index, word), word.length]));
    expect(size.isMoreThan(3 * word.length)).toBe(true);
  });
});
