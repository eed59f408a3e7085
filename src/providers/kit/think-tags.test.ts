import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Chunk } from '../../domain/chunks.ts';
import { ThinkTags } from './think-tags.ts';

/** Reads a text in pieces. @returns reasoning and text */
function split(pieces: readonly string[], isOpened = false): [string, string] {
  const tags = new ThinkTags(isOpened);
  const chunks: Chunk[] = [];
  for (const piece of pieces) tags.read(piece, chunks);
  tags.end(chunks);
  const join = (type: string) =>
    chunks.map((chunk) => (chunk.type === type && 'delta' in chunk ? chunk.delta : '')).join('');
  return [join('reasoning'), join('text')];
}

const texts: [string, string, string][] = [
  ['<think>\nHm.\n</think>\n\nHello.', 'Hm.', 'Hello.'],
  ['\n<think>Hm.</think>Hello.', 'Hm.', 'Hello.'],
  ['<think></think>Hello.', '', 'Hello.'],
  ['<think>Hm. </thin', 'Hm. </thin', ''],
  ['<think>a < b </b> c</think>x', 'a < b </b> c', 'x'],
  ['Hello <think>no</think>.', '', 'Hello <think>no</think>.'],
  ['<thinking>no', '', '<thinking>no'],
  ['<thi', '', '<thi'],
  ['  Hello.', '', '  Hello.'],
  ['', '', ''],
  ['<think>a</think>b<think>c</think>', 'a', 'b<think>c</think>'],
];

it.each(texts)('%j is the reasoning %j and the text %j', (text, reasoning, rest) => {
  expect(split([text])).toEqual([reasoning, rest]);
});

it.each([
  ['Hm.\n</think>\n\nHello.', 'Hm.', 'Hello.'],
  ['<think>Hm.</think>Hello.', 'Hm.', 'Hello.'],
  ['Hm. </thin', 'Hm. </thin', ''],
])('%j begins within the reasoning %j and has the text %j', (text, reasoning, rest) => {
  expect(split([text], true)).toEqual([reasoning, rest]);
  expect(split([...text], true).map((each) => each.trim())).toEqual([reasoning, rest]);
});

it('the pieces make no difference, except for line ends at the tags', () => {
  fc.assert(
    fc.property(fc.constantFrom(...texts), fc.array(fc.integer({ min: 1, max: 6 })), ([text], lengths) => {
      const pieces: string[] = [];
      let at = 0;
      for (const length of lengths) {
        pieces.push(text.slice(at, at + length));
        at += length;
      }
      pieces.push(text.slice(at));
      const trim = ([reasoning, rest]: [string, string]) => [reasoning.trim(), rest.trim()];
      expect(trim(split(pieces))).toEqual(trim(split([text])));
    }),
  );
});
