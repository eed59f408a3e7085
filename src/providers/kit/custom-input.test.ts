import { array, assert, integer, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createInputReader } from './custom-input.ts';

/** What the reader gives for `text`, cut after every `sizes` characters in turn. */
function readInPieces(text: string, sizes: readonly number[]): string {
  const reader = createInputReader();
  let read = '';
  for (let from = 0, turn = 0; from < text.length; turn++) {
    const to = from + sizes[turn % sizes.length]!;
    read += reader.push(text.slice(from, to));
    from = to;
  }
  return read + reader.end();
}

describe('the input of a custom tool', () => {
  it('comes out of its JSON whatever it holds and wherever it is cut', () => {
    const sizes = array(integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 6 });
    assert(
      property(string({ unit: 'binary' }), sizes, (input, cuts) => {
        const ascii = JSON.stringify({ input }).replace(
          /[\u007f-\uffff]/g,
          (half) => `\\u${half.charCodeAt(0).toString(16).padStart(4, '0')}`,
        );
        expect(readInPieces(JSON.stringify({ input }), cuts)).toBe(input);
        expect(readInPieces(ascii, cuts)).toBe(input);
      }),
    );
  });

  it('streams: a piece that can be read is given at once, and no half of an emoji', () => {
    const reader = createInputReader();
    expect(['{"inp', 'ut": "ab', 'c\\', 'n\\ud83c', '\\udfd4', '"}'].map((piece) => reader.push(piece))).toEqual([
      '',
      'ab',
      'c',
      '\n',
      '🏔',
      '',
    ]);
  });

  it.each([
    ['{"input":"cut off in the mid', 'cut off in the mid'],
    ['{"inp', ''],
    ['', ''],
    ['{}', ''],
    ['{"input":{"a":1}}', '{"a":1}'],
    ['{"code":"1"}', '{"code":"1"}'],
    ['"plain"', 'plain'],
    ['select 1', 'select 1'],
    ['{"input":"raw\nline and \\d"}', 'raw\nline and \\d'],
  ])('reads %j as %j', (written, input) => {
    expect(readInPieces(written, [3])).toBe(input);
  });

  it('comes out behind two million spaces that arrive one by one', () => {
    expect(readInPieces(`${' '.repeat(2_000_000)}{"input":"late"}`, [1])).toBe('late');
  });
});
