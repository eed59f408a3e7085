import type { InputItem } from '../../domain/items.ts';
import type { SlicedWork } from '../../domain/work-slices.ts';
import { readContent } from './measure.ts';

/** A tokenizer takes quadratic time for a long run of one character, so it gets pieces. */
const PIECE = 1_000;
const MAX_PIECES = 400;

/** Returns the texts of an input in pieces: all of a short input, evenly spaced ones of a long input. */
export function* sampleTexts(input: readonly InputItem[]): SlicedWork<string[]> {
  const step = Math.max(1, Math.ceil(input.length / MAX_PIECES));
  const texts: string[] = [];
  for (let at = 0; at < input.length; at += step) {
    const content = yield* readContent(input[at]!);
    for (const text of content.texts) texts.push(text);
    yield content.texts.length / 4;
  }
  const characters = texts.reduce((sum, { length }) => sum + length, 0);
  const stride = Math.max(PIECE, Math.ceil(characters / MAX_PIECES));
  const pieces: string[] = [];
  for (const text of texts) {
    for (let at = 0; at < text.length && pieces.length < MAX_PIECES; at += stride) {
      pieces.push(text.slice(at, at + PIECE));
    }
  }
  return pieces;
}
